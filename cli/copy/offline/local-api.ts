import type { Copy } from '../copy.ts'
import { CopyView, needsServer, type Person, type Route } from './copy-view.ts'
import { decisionRoutes } from './decisions.ts'
import { memoryRoutes } from './memories.ts'
import { noteRoutes } from './notes.ts'
import { projectRoutes } from './projects.ts'
import { searchRoutes } from './search.ts'
import { taskRoutes } from './tasks.ts'

const routes: readonly Route[] = [
  ...projectRoutes,
  ...taskRoutes,
  ...noteRoutes,
  ...decisionRoutes,
  ...memoryRoutes,
  ...searchRoutes,
]

/**
 * Answers requests to the web API from the copy, and queues changes. It checks no rights, gates or limits: the server
 * does when the changes are pushed.
 */
export class LocalApi {
  constructor(
    readonly copy: Copy,
    private readonly person: Person,
    private readonly team?: string,
    private readonly via?: string,
  ) {}

  request(method: string, path: string, body?: object): unknown {
    const [route, ...rest] = path.split('?')
    const parts = (route as string).split('/').map(decodeURIComponent)
    const found = routes.find((one) => one.method === method && matchesPath(one.parts, parts))
    if (!found) throw needsServer('This is not possible')
    const params = parts.filter((_, i) => found.parts[i]?.startsWith(':'))
    const team = this.team ?? this.copy.get('team')
    const call = {
      world: new CopyView(this.copy, this.person, team, this.via),
      params,
      query: new URLSearchParams(rest.join('?')),
      body: { ...body },
    }
    // One transaction: a call that changes several records queues all changes or none.
    return method === 'GET' ? found.run(call) : this.copy.change(() => found.run(call))
  }
}

const matchesPath = (wanted: readonly string[], given: readonly string[]): boolean =>
  wanted.length === given.length && wanted.every((part, i) => part.startsWith(':') || part === given[i])
