/** A character of a secret, as it is or percent-encoded, as in an address. Never a dot, which ends a part of a JWT. */
const character = '(?:[\\w-]|%2[Dd]|%[3-7][0-9A-Fa-f])'
const dot = '(?:\\.|%2[Ee])'

/** Our own bearer secrets and JWTs, anywhere in a text. */
export const secretForms = [
  /(?:s|%73)(?:v|%76)(?:c|%63)(?:_|%5[Ff])(?:[A-Za-z0-9_]|%[3-7][0-9A-Fa-f]){20,}/,
  new RegExp(`(?:e|%65)(?:y|%79)(?:J|%4[Aa])${character}{8,}${dot}${character}{8,}${dot}${character}{8,}`),
]

const pattern = new RegExp(secretForms.map(({ source }) => source).join('|'), 'g')

/** Masks secrets in a text that is shown or stored, such as the path of a request, which may hold a mailed link's. */
export const withoutSecrets = (text: string): string => text.replace(pattern, '[redacted]')
