import { coloured } from './environment.ts'

/** Text that came from a server must not steer the terminal. */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim()

const style =
  (on: number) =>
  (text: string, stream: { isTTY?: boolean } = process.stdout) =>
    coloured(stream) ? `\x1b[${on}m${text}\x1b[0m` : text
export const bold = style(1)
export const dim = style(2)

/** `--json`: one value whose shape stays; else lines for people. */
export function print(json: boolean | undefined, value: unknown, ...lines: string[]): void {
  for (const line of json ? [JSON.stringify(value, null, 2)] : lines) console.log(line)
}
