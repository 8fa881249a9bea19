/** Minutes since the administrator confirmed their identity, for actions that give access to an account or team. */
export const FRESH = 5
/** The same, for other actions that cannot be undone easily. */
export const RECENT = 60
