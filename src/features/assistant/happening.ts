import type { Message, Proposal, Source } from './schema.ts'

/** What happens while an answer is written. */
export type Happening =
  | { type: 'sources'; sources: Source[] }
  | { type: 'delta'; text: string }
  | { type: 'proposal'; proposal: Proposal }
  | { type: 'done'; message: Message }
export type Listener = (happening: Happening) => void
