import { hook } from '../hooks.ts'

/**
 * Called for every admitted request and every tool call, before its action runs. Handlers must return at once.
 * `session`: the work session that a tool call names.
 */
export const callReceived = hook<{ session?: string }>('http.callReceived')
