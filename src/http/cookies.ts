import type { SignedIn } from '../features/accounts/schema.ts'
import { ACCESS_COOKIE, REFRESH_COOKIE } from './guard.ts'

interface SetLike {
  status?: number | string
  headers: Record<string, unknown>
}

/** Browsers hold both tokens where scripts cannot read them; the refresh token travels only to its own endpoint. */
export function setCookies(set: SetLike, request: Request, status: number, answer: SignedIn): SignedIn {
  set.status = status
  set.headers['set-cookie'] = [
    cookie(request, ACCESS_COOKIE, answer.token, '/', 15 * 60),
    cookie(request, REFRESH_COOKIE, answer.refreshToken, '/api/auth/refresh', 30 * 86_400),
  ]
  return answer
}

export function clearCookies<T>(set: SetLike, request: Request, answer: T): T {
  set.headers['set-cookie'] = [cookie(request, ACCESS_COOKIE, '', '/', 0), cookie(request, REFRESH_COOKIE, '', '/api/auth/refresh', 0)]
  return answer
}

/** `__Host-` needs HTTPS and the path /, so the refresh cookie goes without it. */
function cookie(request: Request, name: string, value: string, path: string, seconds: number): string {
  const secure = new URL(request.url).protocol === 'https:' || request.headers.get('x-forwarded-proto') === 'https'
  const full = secure && path === '/' ? `__Host-${name}` : name
  return `${full}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
