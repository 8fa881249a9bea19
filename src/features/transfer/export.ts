import { asc, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, read } from '../../action.ts'
import { type Actor, switchOrganization, teamsToList } from '../../auth/actor.ts'
import { authorize, type Rule, scopeHolds } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import { AppError } from '../../errors.ts'
import { type Container, LOWEST_ID, preparePages } from '../../records/sync.ts'
import { links } from '../links/table.ts'
import { memberships } from '../organizations/table.ts'
import { findProject } from '../projects/rows.ts'
import { users } from '../users/table.ts'
import { entities } from './entities.ts'
import { ExportTurn } from './export-turn.ts'
import { filesOf } from './files.ts'
import { extraExportLines } from './hooks.ts'
import { Ids } from './ids.ts'
import { type Kind, kindNamed } from './kinds.ts'
import { exportedParts, personFields } from './parts.ts'
import type { ExportQuery } from './schema.ts'
import type { Source } from './stream.ts'

/** Records that are read at once: at most a few hundred KB each, because others wait while they are parsed. */
const PAGE = 25
/** Records whose links and files are looked up at once; most have none. */
const IDS = 500

/** The caller's rights are read again after this time, even if no event has changed them. */
const RENEW_MS = 1000

/** Agents, and administrators who act as someone else, cannot export. */
const people: Rule = { kinds: ['session', 'api_key'], scope: null, role: 'viewer', own: true, limited: true }

type Fields = Record<string, unknown>
/** The extent of an export: teams, or one project of a team. */
interface ExportExtent {
  teams: readonly string[]
  project?: string
}

interface ExportedRecord {
  entity: string
  record: Fields
}

/** Returns the lines of an export. They are read while they are sent, so an export can have any size. */
export const exportLines = read(
  'transfer.export',
  people,
  async (ctx, { project, organizationId }: ExportQuery): Promise<Source> => {
    const here = organizationId ? { ...ctx, actor: switchOrganization(ctx.actor, organizationId) } : ctx
    const only = project === undefined ? undefined : (await findProject(here, project)).id
    const teams = teamsToList(ctx.actor, organizationId)
    const turn = await ExportTurn.take(ctx.app, ctx.actor.userId as string)
    const exported = new Exported(here, { teams, project: only }, turn)
    return { pages: exportPages(here, exported), end: () => exported.end() }
  },
  { replica: true },
)

async function* exportPages(ctx: Ctx, exported: Exported): AsyncGenerator<readonly object[]> {
  const { teams, project } = exported.extent
  const organizationId = teams.length === 1 ? teams[0] : null
  yield [{ tutti: 'export', version: 1, at: ctx.now, organizationId, organizations: teams, project: project ?? null }]
  for (const entity of Object.keys(entities)) yield* exported.linesOf(entity)
  // Chats are personal, so a credential that is limited to projects gets none.
  if (project === undefined && !ctx.actor.projects)
    for (const more of await extraExportLines.call(ctx, { renewedContext: () => exported.renewedContext() }))
      for await (const line of more) yield [line]
  yield [{ people: await exported.people() }]
}

const peopleIn = Object.entries(personFields)

class Exported {
  readonly #ids = new Map<string, Ids>()
  readonly #people = new Ids()
  readonly #containers: Set<Container>
  /** When the caller's rights were read, by `performance.now()`; 0 if they may have changed since. */
  #renewedAt = 0
  readonly #unwatch: () => void

  constructor(
    private ctx: Ctx,
    readonly extent: ExportExtent,
    private readonly turn: ExportTurn,
  ) {
    const { teams, project } = extent
    const ofTeams = teams.map((id): Container => `organization:${id}`)
    this.#containers = new Set<Container>(project ? [`project:${project}`] : [...ofTeams, `user:${ctx.actor.userId}`])
    this.#unwatch = ctx.app.auth.watch((concerns) => {
      if (concerns(this.ctx.actor)) this.#renewedAt = 0
    })
  }

  async end(): Promise<void> {
    this.#unwatch()
    await this.turn.end()
  }

  async renewedContext(): Promise<Ctx> {
    await this.#renew()
    return this.ctx
  }

  /**
   * Reads the caller's rights again before a page, if an event may have changed them, and after a second in any case:
   * they may end while the export is sent.
   */
  async #renew(): Promise<void> {
    const { app, actor } = this.ctx
    const now = performance.now()
    if (this.#renewedAt > 0 && now - this.#renewedAt < RENEW_MS) return
    this.#renewedAt = now
    await this.turn.keep()
    const found = await app.auth.renew(actor)
    if (!('actor' in found))
      throw new AppError('unauthenticated', 'The credential expired or was revoked during the export.')
    const renewed = switchOrganization(found.actor, actor.organizationId as string)
    authorize(renewed, people, 'transfer.export', app.clock)
    this.ctx = { ...this.ctx, actor: renewed }
  }

  #known = (entity: string): Ids => this.#ids.get(entity) ?? new Ids()

  async *linesOf(name: string): AsyncGenerator<ExportedRecord[]> {
    if (name === 'link') return yield* this.#links()
    if (name === 'file') return yield* this.#files()
    if (Object.hasOwn(exportedParts, name)) return yield* this.#parts(name)
    const kind = kindNamed(this.ctx, name)
    if (kind) yield* this.#records(kind)
  }

  async *#records(entity: Kind): AsyncGenerator<ExportedRecord[]> {
    const ids = new Ids()
    this.#ids.set(entity.entity, ids)
    const { visible, inContainer } = entity.place
    const { project } = this.extent
    const within = project ? inContainer(`project:${project}`) : undefined
    let reader: Actor | undefined
    let pageAfter: ReturnType<typeof preparePages> = async () => []
    for (let after = LOWEST_ID; ; ) {
      await this.#renew()
      const { actor, db } = this.ctx
      if (!scopeHolds(actor.scopes, entity.scope)) return
      if (actor !== reader) pageAfter = preparePages(db, entity, and(visible(rightsOf(actor)), within), PAGE)
      reader = actor
      const page = await pageAfter(after)
      const teams = new Set<unknown>([null, undefined, ...this.#teams()])
      yield page.flatMap(({ $container: container, version, ...record }) => {
        // Projects of the teams open their containers; public records of other teams are not part of an export.
        const isOthers = !teams.has(record.organizationId)
        if (entity.entity === 'project' && !isOthers) this.#containers.add(container)
        if (isOthers || !this.#containers.has(container)) return []
        ids.add(record.id)
        return this.#written(entity.entity, 'version' in entity.columns ? { ...record, version } : record)
      })
      const last = page.at(-1)
      if (!last || page.length < PAGE) return
      after = last.id
    }
  }

  /** Reads the parts of the exported records. */
  async *#parts(name: string): AsyncGenerator<ExportedRecord[]> {
    const part = exportedParts[name] as (typeof exportedParts)[string]
    for (const some of this.#known(part.of).lists(PAGE)) {
      await this.#renew()
      const rows = await rowsAs<Fields>(
        this.ctx.db
          .select(part.columns)
          .from(part.table as PgTable)
          .where(sql`${part.parent} in ${this.#seen(part.of, some)}`)
          .orderBy(...part.key.map((column) => asc(column))),
      )
      // A dependency on a record outside the export would refer to nothing.
      yield rows
        .filter(({ blockedById: other }) => other === undefined || this.#known(part.of).has(String(other)))
        .map((row) => this.#written(name, row))
    }
  }

  /** Reads the files in the texts of the exported records, one at a time. */
  async *#files(): AsyncGenerator<ExportedRecord[]> {
    for (const [kind, ids] of this.#ids)
      for (const some of ids.lists(IDS)) {
        const files = filesOf(kind, async () => {
          const ctx = await this.renewedContext()
          return scopeHolds(ctx.actor.scopes, 'uploads:read') ? { ctx, records: this.#seen(kind, some) } : undefined
        })
        for await (const file of files) yield [this.#written('file', file)]
      }
  }

  async *#links(): AsyncGenerator<ExportedRecord[]> {
    for (const [kind, ids] of this.#ids)
      for (const some of ids.lists(IDS)) {
        await this.#renew()
        if (!scopeHolds(this.ctx.actor.scopes, 'links:read')) return
        const rows = await rowsAs<Fields>(
          this.ctx.db
            .select()
            .from(links)
            .where(and(sql`${links.fromType} = ${kind}`, sql`${links.fromId} in ${this.#seen(kind, some)}`))
            .orderBy(links.id),
        )
        const ends = await this.#seenEnds(rows)
        yield rows.filter(({ toId }) => ends.has(String(toId))).map((row) => this.#written('link', row))
      }
  }

  /** Returns the ends of links that were exported and that the caller sees. */
  async #seenEnds(rows: readonly Fields[]): Promise<Set<string>> {
    const ends = new Set<string>()
    for (const [kind, some] of Map.groupBy(rows, ({ toType }) => String(toType))) {
      const ids = some.map(({ toId }) => String(toId)).filter((id) => this.#known(kind).has(id))
      if (ids.length === 0) continue
      const found = await this.ctx.db.execute<{ id: string }>(this.#seen(kind, idList(ids)))
      for (const { id } of found.rows) ends.add(id)
    }
    return ends
  }

  /** Selects the exported records that the caller still sees. */
  #seen(name: string, ids: string): SQL {
    const { table, place } = kindNamed(this.ctx, name) as Kind
    return sql`(select ${table.id} as id from ${table} where ${anyOf(table.id, ids)}
      and ${place.visible(rightsOf(this.ctx.actor))})`
  }

  #written(entity: string, record: Fields): ExportedRecord {
    for (const [field, type] of peopleIn)
      if (typeof record[field] === 'string' && (type === undefined || record[type] === 'user'))
        this.#people.add(record[field])
    return { entity, record }
  }

  /** Returns the teams in which the caller is still a member. */
  #teams(): string[] {
    return this.extent.teams.filter((id) => this.ctx.actor.memberships.has(id))
  }

  /**
   * Returns the e-mail addresses of the members in the export, so that the importing server can find their accounts;
   * none for a key that may not list members, or that is limited to projects.
   */
  async people(): Promise<{ id: string; email: string }[]> {
    await this.#renew()
    const { scopes, projects } = this.ctx.actor
    if (projects || !scopeHolds(scopes, 'organizations:read')) return []
    const named: { id: string; email: string }[] = []
    for (const some of this.#people.lists(IDS))
      named.push(
        ...(await this.ctx.db
          .selectDistinct({ id: users.id, email: users.email })
          .from(users)
          .innerJoin(memberships, sql`${memberships.userId} = ${users.id}`)
          .where(and(anyOf(users.id, some), anyOf(memberships.organizationId, idList(this.#teams()))))),
      )
    return named
  }
}
