/** As much of a browser as signing in somewhere else takes: cookies, and redirects one at a time. */
export class Visitor {
  readonly #cookies = new Map<string, Map<string, string>>()

  /** Only what the server at this address would get. */
  cookies(url: string): Map<string, string> {
    const { host } = new URL(url)
    const kept = this.#cookies.get(host) ?? new Map<string, string>()
    this.#cookies.set(host, kept)
    return kept
  }

  async get(url: string, headers: Record<string, string> = {}, form?: Record<string, string>): Promise<Response> {
    const kept = this.cookies(url)
    const cookie = [...kept].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { ...(cookie && { cookie }), ...headers },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0|expires=Thu, 01 Jan 1970/i.test(line)) kept.delete(name)
      else kept.set(name, value)
    }
    return response
  }

  /** Where it is sent on to. */
  async next(url: string, form?: Record<string, string>): Promise<string> {
    const response = await this.get(url, {}, form)
    const location = response.headers.get('location')
    if (!location) throw new Error(`${url} answered ${response.status}: ${(await response.text()).slice(0, 500)}`)
    return new URL(location, url).href
  }
}
