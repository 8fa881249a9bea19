import { anything, defineEvent, number, text } from '../../events/catalogue.ts'

const ofSession = { kind: 'session', live: true } as const
/** The team sees that someone works, but not on what: goals and checkpoint stay private. */
const sessionData = { status: text, version: number } as const

export const sessionStarted = defineEvent('session.started', {
  ...ofSession,
  description: 'A session started',
  data: sessionData,
})
export const sessionPaused = defineEvent('session.paused', {
  ...ofSession,
  description: 'A session was paused because its worker started another',
  data: sessionData,
})
export const sessionResumed = defineEvent('session.resumed', {
  ...ofSession,
  description: 'A session was resumed',
  data: sessionData,
})
/** Not sent live: checkpoints concern only the worker. */
export const sessionCheckpointed = defineEvent('session.checkpointed', {
  kind: 'session',
  description: 'A worker saved a checkpoint of their session',
  data: sessionData,
  words: (what) => `saved a checkpoint of ${what}`,
})
/** Only for its user. Written after the brief, so that no transaction waits for the brief. */
export const sessionBriefed = defineEvent('session.briefed', {
  kind: 'session',
  feed: 'none',
  description: 'A worker got the brief of their session; `parts` are its titles and their tokens',
  data: { tokens: number, budget: number, parts: anything },
})
export const sessionEnded = defineEvent('session.ended', {
  ...ofSession,
  description: 'A session ended',
  data: sessionData,
})
