import { hook } from '../hooks.ts'

/** Called for every admitted request and every tool call, before its action runs. Handlers must return at once. */
export const callReceived = hook<Record<string, never>>('http.callReceived')
