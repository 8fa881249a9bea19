import { define, number, text } from '../../events/catalogue.ts'

const ofSession = { kind: 'session', live: true } as const
/** That somebody is at work is the team's to know; at what, and what they think of it, is their own. */
const shown = { status: text, version: number } as const

export const sessionStarted = define('session.started', { ...ofSession, says: 'Somebody began to work', data: shown })
export const sessionPaused = define('session.paused', {
  ...ofSession,
  says: 'A session paused because its worker began another',
  data: shown,
})
export const sessionResumed = define('session.resumed', { ...ofSession, says: 'A session goes on', data: shown })
/** Kept up by whoever works in it, and nobody else's news. */
export const sessionCheckpointed = define('session.checkpointed', {
  kind: 'session',
  says: 'A worker saved where their session stands',
  data: shown,
  words: (what) => `saved where ${what} stands`,
})
export const sessionEnded = define('session.ended', { ...ofSession, says: 'A session ended', data: shown })
