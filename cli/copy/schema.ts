/** The date of the shapes of records that this program knows, like X-API-Version. */
export const SCHEMA = '2026-11-16'
