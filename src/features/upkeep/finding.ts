import type { TimesInText } from '../../schema.ts'

/** Result of one check of `tutti doctor`. */
export interface Finding {
  what: string
  ok: boolean
  /** Nothing is broken, but the operator should know. */
  warning?: true
  said: string
  /** The times in `said`. */
  times?: TimesInText
  /** What to do about it. */
  advice?: string
}

export const oneLineError = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ')
