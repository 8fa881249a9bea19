import { define, number, text } from '../../events/catalogue.ts'

const ofSession = { kind: 'session', live: true } as const
/** The team hears that somebody works, not on what: goals and checkpoint stay private. */
const shown = { status: text, version: number } as const

export const sessionStarted = define('session.started', { ...ofSession, says: 'Somebody began to work', data: shown })
export const sessionPaused = define('session.paused', {
  ...ofSession,
  says: 'A session paused because its worker began another',
  data: shown,
})
export const sessionResumed = define('session.resumed', { ...ofSession, says: 'A session goes on', data: shown })
/** Not sent live: checkpoints concern only the worker. */
export const sessionCheckpointed = define('session.checkpointed', {
  kind: 'session',
  says: 'A worker saved where their session stands',
  data: shown,
  words: (what) => `saved where ${what} stands`,
})
export const sessionEnded = define('session.ended', { ...ofSession, says: 'A session ended', data: shown })
