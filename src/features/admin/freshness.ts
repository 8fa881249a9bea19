/**
 * Minutes since the administrator last confirmed their identity, for actions that give access to an account or a team.
 * Those concerned are notified.
 */
export const FRESH = 5
/** Minutes for other actions that cannot be undone easily. */
export const RECENT = 60
