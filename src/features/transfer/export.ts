import { asc, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, read } from '../../action.ts'
import { inOrganization } from '../../auth/actor.ts'
import { authorize, type Rule, scopeHolds } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import { AppError } from '../../errors.ts'
import { type Container, readCopies } from '../../records/sync.ts'
import { links } from '../links/table.ts'
import { memberships } from '../organizations/table.ts'
import { find as findProject } from '../projects/rows.ts'
import { users } from '../users/table.ts'
import { filesOf } from './files.ts'
import { exportedToo } from './hooks.ts'
import { type Kind, kindNamed } from './kinds.ts'
import { order, parts, personFields } from './parts.ts'
import type { ExportQuery } from './schema.ts'

const PAGE = 100

/** Agents do not take everything away, nor does somebody who acts as another. */
const people: Rule = { kinds: ['session', 'api_key'], scope: null, role: 'viewer', own: true }

type Fields = Record<string, unknown>
interface Written {
  entity: string
  record: Fields
}

/** Users with an export under way: one at a time, because each reads everything. */
const running = new Set<string>()

/** Returns the lines of an export. They are read while they are sent, so the size does not matter. */
export const exportLines = read('transfer.export', people, async (ctx, { project }: ExportQuery): Promise<Source> => {
  const userId = ctx.actor.userId as string
  if (running.has(userId))
    throw new AppError('rate_limited', 'Another export of yours is under way. Wait for its end.', { retryAfter: 10 })
  const only = project === undefined ? undefined : (await findProject(ctx, project)).id
  running.add(userId)
  return { lines: lines(ctx, only), end: () => void running.delete(userId) }
})

interface Source {
  lines: AsyncGenerator<object>
  /** Must be called when no more lines are read, whatever the reason. */
  end(): void
}

async function* lines(ctx: Ctx, project: string | undefined): AsyncGenerator<object> {
  const exported = new Exported(ctx, project)
  yield { tutti: 'export', version: 1, at: ctx.now, organizationId: ctx.actor.organizationId, project: project ?? null }
  for (const entity of order) yield* exported.of(entity)
  if (project === undefined) for (const more of await exportedToo.call(ctx, {})) yield* more
  yield { people: await exported.people() }
}

class Exported {
  readonly #ids = new Map<string, Set<string>>()
  readonly #people = new Set<string>()
  readonly #containers: Set<Container>

  constructor(
    private ctx: Ctx,
    private readonly project: string | undefined,
  ) {
    const { organizationId, userId } = ctx.actor
    this.#containers = new Set<Container>(
      project ? [`project:${project}`] : [`organization:${organizationId}`, `user:${userId}`],
    )
  }

  /** Reads the rights of the caller again, before each page: they may end while the export is sent. */
  async #renew(): Promise<void> {
    const { app, actor } = this.ctx
    const found = await app.auth.again(actor)
    if (!('actor' in found)) throw new AppError('unauthenticated', 'The credential ended during the export.')
    const renewed = inOrganization(found.actor, actor.organizationId as string)
    authorize(renewed, people, 'transfer.export', app.clock)
    this.ctx = { ...this.ctx, actor: renewed }
  }

  #known = (entity: string): Set<string> => this.#ids.get(entity) ?? new Set()

  async *of(name: string): AsyncGenerator<Written> {
    if (name === 'link') return yield* this.#links()
    if (name === 'file') return yield* this.#files()
    if (Object.hasOwn(parts, name)) return yield* this.#parts(name)
    const kind = kindNamed(this.ctx, name)
    if (kind) yield* this.#records(kind)
  }

  async *#records(entity: Kind): AsyncGenerator<Written> {
    const ids = new Set<string>()
    this.#ids.set(entity.entity, ids)
    const { visible, inContainer } = entity.place
    const within = this.project ? inContainer(`project:${this.project}`) : undefined
    for (let after: string | undefined; ; ) {
      await this.#renew()
      if (!scopeHolds(this.ctx.actor.scopes, entity.scope)) return
      const where = and(visible(rightsOf(this.ctx.actor)), within)
      const page = await readCopies(this.ctx.db, entity, { where, after, limit: PAGE })
      for (const { id, container, record } of page) {
        // Projects of the team open their containers; what other teams share publicly is not part of an export.
        const isOthers = ![undefined, null, this.ctx.actor.organizationId].includes(record.organizationId as string)
        if (entity.entity === 'project' && !isOthers) this.#containers.add(container)
        if (isOthers || !this.#containers.has(container)) continue
        ids.add(id)
        const { version, ...rest } = record
        yield this.#written(entity.entity, 'version' in entity.columns ? { ...rest, version } : rest)
      }
      after = page.at(-1)?.id
      if (page.length < PAGE) return
    }
  }

  /** Reads what belongs to the records that were written. */
  async *#parts(name: string): AsyncGenerator<Written> {
    const part = parts[name] as (typeof parts)[string]
    for (const some of chunks(this.#known(part.of))) {
      await this.#renew()
      const rows = await rowsAs<Fields>(
        this.ctx.db
          .select(part.columns)
          .from(part.table as PgTable)
          .where(anyOf(part.parent, idList(some)))
          .orderBy(...part.key.map((column) => asc(column))),
      )
      // A dependency on a record that is not part of the export would name nothing.
      for (const row of rows)
        if (row.blockedById === undefined || this.#known(part.of).has(String(row.blockedById)))
          yield this.#written(name, row)
    }
  }

  /** Reads the files in the texts of the records that were written, one at a time. */
  async *#files(): AsyncGenerator<Written> {
    for (const [kind, ids] of this.#ids)
      for (const some of chunks(ids)) {
        await this.#renew()
        if (!scopeHolds(this.ctx.actor.scopes, 'uploads:read')) return
        for await (const file of filesOf(this.ctx, kind, some)) yield this.#written('file', file)
      }
  }

  async *#links(): AsyncGenerator<Written> {
    for (const [kind, ids] of this.#ids)
      for (const some of chunks(ids)) {
        await this.#renew()
        if (!scopeHolds(this.ctx.actor.scopes, 'links:read')) return
        const rows = await rowsAs<Fields>(
          this.ctx.db
            .select()
            .from(links)
            .where(and(sql`${links.fromType} = ${kind}`, anyOf(links.fromId, idList(some))))
            .orderBy(links.id),
        )
        for (const row of rows)
          if (this.#known(String(row.toType)).has(String(row.toId))) yield this.#written('link', row)
      }
  }

  #written(entity: string, record: Fields): Written {
    for (const [field, type] of Object.entries(personFields))
      if (typeof record[field] === 'string' && (type === undefined || record[type] === 'user'))
        this.#people.add(record[field])
    return { entity, record }
  }

  /**
   * Returns the addresses of the members who are named, so that the importing server can find their accounts; none to a
   * key that may not list members.
   */
  async people(): Promise<{ id: string; email: string }[]> {
    await this.#renew()
    if (!scopeHolds(this.ctx.actor.scopes, 'organizations:read')) return []
    const named: { id: string; email: string }[] = []
    for (const some of chunks(this.#people))
      named.push(
        ...(await this.ctx.db
          .selectDistinct({ id: users.id, email: users.email })
          .from(users)
          .innerJoin(memberships, sql`${memberships.userId} = ${users.id}`)
          .where(
            and(anyOf(users.id, idList(some)), sql`${memberships.organizationId} = ${this.ctx.actor.organizationId}`),
          )),
      )
    return named
  }
}

function* chunks(ids: ReadonlySet<string>): Generator<string[]> {
  let some: string[] = []
  for (const id of ids) {
    some.push(id)
    if (some.length < PAGE) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

/** Bytes that are sent at once. */
const CHUNK = 64 << 10

/** Returns the lines as a stream of bytes. The last line has the count of the others and their SHA-256. */
export function streamOf({ lines, end }: Source, format: 'ndjson' | 'json'): ReadableStream<Uint8Array> {
  const hash = new Bun.CryptoHasher('sha256')
  let count = 0
  const written = (line: object, isLast: boolean): string => {
    const json = JSON.stringify(line)
    if (!isLast) hash.update(`${json}\n`)
    if (format === 'ndjson') return `${json}\n`
    return `${count === 0 ? '[' : ','}\n${json}${isLast ? '\n]\n' : ''}`
  }
  const next = async (): Promise<{ text: string; isLast: boolean }> => {
    let text = ''
    while (text.length < CHUNK) {
      const { value, done } = await lines.next()
      if (done) return { text: text + written({ end: { count, sha256: hash.digest('hex') } }, true), isLast: true }
      text += written(value, false)
      count++
    }
    return { text, isLast: false }
  }
  return new ReadableStream({
    async pull(controller) {
      try {
        // A reader that takes everything at once would hold the event loop for a whole page of records.
        await new Promise(setImmediate)
        const { text, isLast } = await next()
        controller.enqueue(new TextEncoder().encode(text))
        if (!isLast) return
        controller.close()
      } catch (error) {
        controller.error(error)
      }
      end()
    },
    cancel: end,
  })
}
