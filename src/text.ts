/** `How we deploy!` → `how-we-deploy`: small letters, digits and single dashes. */
export const slugify = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 50)
    .replace(/-+$/, '')

/** Control, bidirectional, zero-width and tag characters, which hide text from people but not from models. Tabs and line ends stay. */
const hidden = new RegExp(
  [
    '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]', // control
    '[\\u00ad\\u061c\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff]', // zero-width and direction
    '\\udb40[\\udc00-\\udc7f]', // tags
  ].join('|'),
  'g',
)

export const visibleText = (text: string): string => text.replace(hidden, '')
