/** `How we deploy!` → `how-we-deploy`: lower-case letters, digits and single dashes. */
export const slugify = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 50)
    .replace(/-+$/, '')

/** Returns `how-we-deploy`, or if taken `how-we-deploy-2` and so on. */
export function uniqueSlug(slug: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) {
    const free = n === 1 ? slug : `${slug}-${n}`
    if (!taken.has(free)) return free
  }
}

/**
 * Control, bidirectional, zero-width and tag characters, which hide text from people but not from models. Tabs and line
 * ends stay.
 */
const hidden = new RegExp(
  [
    // control
    '[\\u{0}-\\u{8}\\u{b}\\u{c}\\u{e}-\\u{1f}\\u{7f}]',
    // invisible, direction
    '[\\u{ad}\\u{61c}\\u{200b}\\u{200e}\\u{200f}\\u{202a}-\\u{202e}\\u{2060}-\\u{2064}\\u{2066}-\\u{206f}\\u{feff}]',
    // joiners that join nothing
    '(?<![\\p{L}\\p{M}\\p{Emoji}])[\\u{200c}\\u{200d}]|[\\u{200c}\\u{200d}](?![\\p{L}\\p{M}\\p{Emoji}])',
    // tags
    '[\\u{e0000}-\\u{e007f}]',
  ].join('|'),
  'gu',
)

/** Apart from control characters, all of them are outside ASCII. */
const suspicious = /[^\t\n\r -~]/

/** Whether `visibleText` would remove something. */
export const hidesText = (text: string): boolean => suspicious.test(text) && visibleText(text) !== text

export const visibleText = (text: string): string => text.replace(hidden, '')

/** Returns the beginning of a text, for lists. */
export const excerptOf = (text: string): string => (text.length > 160 ? `${text.slice(0, 159)}…` : text)

/** Returns how old something is: `3 days`. */
export function ageOf(at: string, now: string): string {
  const minutes = Math.max(0, Math.floor((Date.parse(now) - Date.parse(at)) / 60_000))
  const plural = (n: number, unit: string) => `${n} ${unit}${n === 1 ? '' : 's'}`
  if (minutes < 60) return plural(minutes, 'minute')
  return minutes < 2880 ? plural(Math.floor(minutes / 60), 'hour') : plural(Math.floor(minutes / 1440), 'day')
}

export const capitalizeFirst = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
