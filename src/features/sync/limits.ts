/** Limits of sync, which devices get when they register. Sizes are in bytes. */
export const limits = {
  /** The limits of one push. */
  mutations: 500,
  pushBytes: 8 << 20,
  mutationBytes: 1 << 20,
  /** The limits of one page: events, or records of a container that is read whole. */
  page: 500,
  pageBytes: 4 << 20,
  /** How many devices a user may have. */
  devices: 20,
  /** How long devices, cursors and receipts are kept without use. */
  days: 90,
}

/** What the server keeps: open conflicts of a user, cursors of a device. */
export const kept = { openConflicts: 1000, cursors: 200 }
