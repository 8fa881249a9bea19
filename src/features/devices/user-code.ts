import { randomInt } from 'node:crypto'
import { invalid } from '../../errors.ts'

/** No vowels, so that no words appear, and no letters that look like digits. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8

export const newUserCode = (): string =>
  Array.from({ length: LENGTH }, () => letters[randomInt(letters.length)]).join('')
export const withDash = (code: string): string => `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`

/** Throws `invalid` for text that cannot be a code. Such a typing mistake does not count as a guess. */
export function readUserCode(typed: string): string {
  const code = typed.replace(/[\s-]/g, '').toUpperCase()
  if (code.length !== LENGTH || [...code].some((letter) => !letters.includes(letter)))
    throw invalid('/userCode', `A code has ${LENGTH} letters without vowels, such as BCDF-GHJK.`, 'format')
  return code
}
