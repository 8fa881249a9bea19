/** The position of a row in a list: the sort value, then the id. */
export interface ListPosition {
  value: string | number
  id: string
}

/** The order of a list. A cursor is refused by every other list and order. */
export interface ListOrder {
  name: string
  descending: boolean
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const BITS = 6
/** An id has 128 bits: 21 digits, and one of which two bits count. */
const ID_DIGITS = 22
const SPARE_BITS = BigInt(ID_DIGITS * BITS - 128)
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const form = /^([\w-]{1,9})(?:\.([\w-]{1,22}))?$/

/** Returns true for a time that Postgres accepts: no 30th of February, no year 0. */
export function isValidTime(text: string): boolean {
  const time = /^(?!0000)\d{4}-/.test(text) ? new Date(text) : undefined
  return time !== undefined && !Number.isNaN(time.getTime()) && time.toISOString() === text
}

/** Returns digits of a hash, to detect a mistyped or foreign cursor. */
export function hashDigits(text: string, count: number): string {
  return digitsOf(Bun.hash(text), count).slice(-count)
}

/**
 * Returns a cursor that separates two neighbours of a list, or undefined where `value` is neither a time nor a whole
 * number. It holds the value, and of the id only as much as tells the two rows apart: nothing, unless their values are
 * equal. Neither row has to exist later on.
 */
export function encodeShortCursor({ name }: ListOrder, last: ListPosition, next: ListPosition): string | undefined {
  const value = toNumber(last.value)
  if (value === undefined || !uuid.test(last.id) || !uuid.test(next.id)) return undefined
  const between = last.value === next.value ? `.${separator(last.id, next.id)}` : ''
  const body = digitsOf(BigInt(value), 1) + between
  return body + hashDigits(`${name} ${body}`, CHECK)
}
const CHECK = 2

/** Reads such a cursor. Returns undefined for any other text. */
export function decodeShortCursor(
  { name, descending }: ListOrder,
  cursor: string,
): { number: number; id: string } | undefined {
  const body = cursor.slice(0, -CHECK)
  const [, value, between = ''] = form.exec(body) ?? []
  if (value === undefined || cursor !== body + hashDigits(`${name} ${body}`, CHECK)) return undefined
  // The rows behind the cursor are those below it in descending order, and above it in ascending order.
  const digits = between.padEnd(ID_DIGITS, descending ? 'A' : '_')
  return { number: Number(numberOf(value)), id: toId(numberOf(digits) >> SPARE_BITS) }
}

function toNumber(value: string | number): number | undefined {
  if (typeof value === 'string')
    return /^\d{4}-/.test(value) && isValidTime(value) ? positive(Date.parse(value)) : undefined
  return positive(value)
}
const positive = (value: number): number | undefined => (Number.isSafeInteger(value) && value >= 0 ? value : undefined)

/** Returns the digits of the first id up to where the second one differs. */
function separator(id: string, other: string): string {
  const [digits, others] = [idDigits(id), idDigits(other)]
  const end = [...digits].findIndex((digit, i) => digit !== others[i])
  return digits.slice(0, end + 1)
}

const idDigits = (id: string): string => digitsOf(BigInt(`0x${id.replaceAll('-', '')}`) << SPARE_BITS, ID_DIGITS)
const toId = (number: bigint): string =>
  number
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

function digitsOf(number: bigint, least: number): string {
  let digits = ''
  for (let left = number; left > 0n; left >>= BigInt(BITS)) digits = DIGITS[Number(left & 63n)] + digits
  return digits.padStart(least, 'A')
}

const numberOf = (digits: string): bigint =>
  [...digits].reduce((sum, digit) => (sum << BigInt(BITS)) | BigInt(DIGITS.indexOf(digit)), 0n)
