/** Our own bearer secrets and JWTs, anywhere in a text. */
export const secretForms = [/svc_[A-Za-z0-9_]{20,}/, /eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/]

const pattern = new RegExp(secretForms.map(({ source }) => source).join('|'), 'g')

/** Masks secrets in a text that is shown or stored, such as the path of a request, which may hold a mailed link's. */
export const withoutSecrets = (text: string): string => text.replace(pattern, '[redacted]')
