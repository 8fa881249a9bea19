import { anything, define, number, text } from '../../events/catalogue.ts'

const ofSession = { kind: 'session', live: true } as const
/** The team sees that someone works, but not on what: goals and checkpoint stay private. */
const shown = { status: text, version: number } as const

export const sessionStarted = define('session.started', { ...ofSession, description: 'A session started', data: shown })
export const sessionPaused = define('session.paused', {
  ...ofSession,
  description: 'A session was paused because its worker started another',
  data: shown,
})
export const sessionResumed = define('session.resumed', {
  ...ofSession,
  description: 'A session was resumed',
  data: shown,
})
/** Not sent live: checkpoints concern only the worker. */
export const sessionCheckpointed = define('session.checkpointed', {
  kind: 'session',
  description: 'A worker saved a checkpoint of their session',
  data: shown,
  words: (what) => `saved a checkpoint of ${what}`,
})
/** Only for its user. Written after the brief, so that no transaction waits for the brief. */
export const sessionBriefed = define('session.briefed', {
  kind: 'session',
  feed: 'none',
  description: 'A worker got the brief of their session; `parts` are its titles and their tokens',
  data: { tokens: number, budget: number, parts: anything },
})
export const sessionEnded = define('session.ended', { ...ofSession, description: 'A session ended', data: shown })
