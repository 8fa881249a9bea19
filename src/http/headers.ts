import { API_VERSION } from './openapi.ts'

/** Sent with every response, errors included. Pages use their own content policy. */
export const headers: Record<string, string> = {
  'x-api-version': API_VERSION,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
}
