/** Limits of sync, which devices receive when they register. Sizes are in bytes. */
export const syncLimits = {
  /** The limits of one push. */
  mutations: 500,
  pushBytes: 8 << 20,
  mutationBytes: 1 << 20,
  /** The limits of one page: events, or records of a container that is read in full. */
  page: 500,
  pageBytes: 4 << 20,
  /** How many devices a user may have. */
  devices: 20,
  /** How long devices, cursors and receipts are kept without use. */
  days: 90,
}

/** Storage limits: open conflicts of a user, cursors of a device. */
export const storageLimits = { openConflicts: 1000, cursors: 200 }
