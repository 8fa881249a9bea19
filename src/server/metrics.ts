import type { App } from '../services.ts'

/** Counters for Prometheus, in its text format. Few and cheap: a request costs two additions. */
export class Metrics {
  readonly #requests = new Map<string, number>()
  readonly #seconds = { sum: 0, count: 0, buckets: [0, 0, 0, 0, 0, 0, 0] }
  static readonly bounds = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, Number.POSITIVE_INFINITY]
  readonly #startedAt = Date.now()

  request(status: number, milliseconds: number): void {
    const key = `${Math.floor(status / 100)}xx`
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
    const seconds = milliseconds / 1000
    this.#seconds.sum += seconds
    this.#seconds.count++
    const at = Metrics.bounds.findIndex((bound) => seconds <= bound)
    this.#seconds.buckets[at] = (this.#seconds.buckets[at] as number) + 1
  }

  async render(app: App, gauges: Record<string, number>): Promise<string> {
    const { detail, ok } = app.driver.status()
    const jobs = await app.jobs.status().catch(() => undefined)
    const lines: string[] = []
    const put = (...metric: Parameters<typeof linesOf>) => lines.push(...linesOf(...metric))
    put(
      'http_requests_total',
      'counter',
      'Requests by class of status',
      [...this.#requests].map(([k, v]) => [`{status="${k}"}`, v]),
    )
    let running = 0
    const buckets = Metrics.bounds.map((bound, i): [string, number] => {
      running += this.#seconds.buckets[i] as number
      return [`_bucket{le="${bound === Number.POSITIVE_INFINITY ? '+Inf' : bound}"}`, running]
    })
    put('http_request_seconds', 'histogram', 'Response time', [
      ...buckets,
      ['_sum', this.#seconds.sum],
      ['_count', this.#seconds.count],
    ])
    put('database_up', 'gauge', 'Whether the database responds', [['', ok ? 1 : 0]])
    for (const [name, value] of Object.entries(detail)) {
      if (typeof value === 'number')
        put(
          `database_${name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)}`,
          'gauge',
          'Reported by the database driver',
          [['', value]],
        )
    }
    if (jobs)
      put(
        'jobs',
        'gauge',
        'Jobs by state',
        Object.entries(jobs).map(([state, n]) => [`{state="${state}"}`, n]),
      )
    for (const [name, value] of Object.entries(gauges)) put(name, 'gauge', 'Now', [['', value]])
    put('resident_memory_bytes', 'gauge', 'Resident memory', [['', process.memoryUsage.rss()]])
    put('uptime_seconds', 'gauge', 'Since start', [['', Math.floor((Date.now() - this.#startedAt) / 1000)]])
    return `${lines.join('\n')}\n`
  }
}

const linesOf = (
  name: string,
  type: 'counter' | 'gauge' | 'histogram',
  help: string,
  rows: [labels: string, value: number][],
): string[] => [
  `# HELP tutti_${name} ${help}`,
  `# TYPE tutti_${name} ${type}`,
  ...rows.map(([labels, value]) => `tutti_${name}${labels} ${value}`),
]
