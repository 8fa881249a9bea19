import { hook } from '../hooks.ts'

/**
 * Called for every admitted request and every tool call, before its action runs. Handlers must return at once.
 * `session` and `tasks`: the work session and the tasks that a tool call names.
 */
export const callReceived = hook<{ session?: string; tasks?: readonly string[] }>('http.callReceived')
