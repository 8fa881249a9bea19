import type { Ctx } from '../../action.ts'
import type { SiteRequest, SiteResponse } from '../../feature.ts'
import { publicNames } from '../../records/names.ts'
import type { App } from '../../services.ts'

/** Pages stay in memory for at most this long: a scheduled post appears by the clock, without an event. */
const KEEP_MS = 1000
const MOST_CHARACTERS = 32_000_000
/** A page can have many addresses. */
const MOST_PAGES = 5000

export const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const cacheControl = 'public, max-age=60, stale-while-revalidate=600'

/** The content of a page with its type, or the address that it has moved to. */
export type RenderedPage = { body: string; type?: string; cache?: string } | { movedTo: string }

interface CachedPage {
  answer: SiteResponse
  etag: string
  size: number
  at: number
  generation: number
}

interface PageCache {
  pages: Map<string, CachedPage>
  size: number
  /** Grows with every change of a record or setting that a page may show. */
  generation: number
}

const pageCaches = new WeakMap<App, PageCache>()

/** Kinds of events that change what visitors see. */
const shownKinds = new Set<string>([
  ...['page', 'post', 'category', 'setting', 'sponsor', 'community_post', 'marketplace_item', 'user', 'organization'],
  ...publicNames,
])

function pageCacheOf(app: App): PageCache {
  const known = pageCaches.get(app)
  if (known) return known
  const memory: PageCache = { pages: new Map(), size: 0, generation: 0 }
  pageCaches.set(app, memory)
  app.bus.subscribe(({ type }) => {
    if (shownKinds.has(app.events.kindOf(type) ?? '')) memory.generation++
  })
  return memory
}

function storePage(memory: PageCache, path: string, kept: CachedPage): void {
  const before = memory.pages.get(path)
  memory.pages.delete(path)
  memory.pages.set(path, kept)
  memory.size += kept.size - (before?.size ?? 0)
  for (const [oldest, { size }] of memory.pages) {
    if (memory.size <= MOST_CHARACTERS && memory.pages.size <= MOST_PAGES) break
    memory.pages.delete(oldest)
    memory.size -= size
  }
}

/** Adds an etag of exactly these bytes, which change with the record, the settings and the layout. */
function toCachedPage(made: RenderedPage): Pick<CachedPage, 'answer' | 'etag' | 'size'> {
  if ('movedTo' in made)
    return {
      answer: { status: 301, headers: { location: made.movedTo, 'cache-control': cacheControl }, body: null },
      etag: '',
      size: 0,
    }
  const etag = `W/"${Bun.hash(made.body).toString(36)}"`
  const headers = {
    'content-type': made.type ?? 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy,
    'cache-control': made.cache ?? cacheControl,
    etag,
  }
  return { answer: { status: 200, headers, body: made.body }, etag, size: made.body.length }
}

type PageRequest = Pick<SiteRequest, 'path' | 'ifNoneMatch'>

/** Returns the cached page of a path if it was rendered within the last second and nothing has changed since. */
function freshPage({ pages, generation }: PageCache, path: string): CachedPage | undefined {
  const kept = pages.get(path)
  const isFresh = kept && kept.generation === generation && performance.now() - kept.at < KEEP_MS
  return isFresh ? kept : undefined
}

const answerPage = ({ etag, answer }: CachedPage, { ifNoneMatch }: PageRequest): SiteResponse =>
  etag === '' || !ifNoneMatch?.includes(etag) ? answer : { ...answer, status: 304, body: null }

/** Returns a page from memory. The page at `/` depends on its reader, so it is never cached. */
export function cachedPage(app: App, asked: PageRequest): SiteResponse | undefined {
  const kept = asked.path === '/' ? undefined : freshPage(pageCacheOf(app), asked.path)
  return kept && answerPage(kept, asked)
}

/** Adds the cursor to the path of a paged list, so that each page is cached separately. */
export const requestForPage = <R extends PageRequest>(request: R, cursor: string | undefined): R =>
  cursor === undefined ? request : { ...request, path: `${request.path}?${cursor}` }

/** Returns the page of a path, from memory if possible. A reader who has the same version gets 304. */
export async function servePage(
  ctx: Ctx,
  asked: PageRequest,
  make: () => Promise<RenderedPage>,
): Promise<SiteResponse> {
  const memory = pageCacheOf(ctx.app)
  const { generation } = memory
  const known = freshPage(memory, asked.path)
  if (known) return answerPage(known, asked)
  const at = performance.now()
  const kept = { ...toCachedPage(await make()), generation, at }
  storePage(memory, asked.path, kept)
  return answerPage(kept, asked)
}
