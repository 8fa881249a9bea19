import { notFound } from '../../src/errors.ts'
import type { LiveEvent } from '../../src/features/hub/schema.ts'
import { inFull } from '../../src/records/party.ts'
import type { Client } from '../api/client.ts'
import { follow, stopSignal } from '../api/events.ts'
import { helped } from '../api/hints.ts'
import { linkedProject } from '../api/linked.ts'
import { signedInClient, type Where } from '../api/profiles.ts'
import { at } from '../api/reference.ts'
import { dim, guarded, jsonText, note, plain } from '../terminal/output.ts'

interface Options extends Where {
  json?: boolean
  project?: string
  allProjects?: boolean
  type?: string[]
}

/** Prints events as they happen, one on each line, until Ctrl-C. */
export async function watch({ json, project, allProjects, type: types, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const stop = stopSignal()
  const named = project ?? (allProjects ? undefined : linkedProject(client.server)?.project)
  const place = await helped(client, () => placeOf(client, named))
  const say = (text: string) => (json ? undefined : note(text))
  const onLost = () => say(`The connection to ${client.server} was lost. Connecting again.`)
  let isNew = true
  for await (const message of follow(client, [place.topic], stop, { onLost })) {
    if (message.op === undefined) {
      const isWanted = place.has(message) && (types?.includes(message.type) ?? true)
      if (isWanted && !(await printEvent(message, json))) return
    } else if (message.op === 'reset') say('Some events were missed. List them with: tutti activity list')
    else if (message.op === 'revoked') throw notFound(place.kind, place.name)
    else if (message.op === 'subscribed') {
      if (message.refused.length > 0) throw notFound(place.kind, place.name)
      say(isNew ? `Watching ${plain(place.name)}. Press Ctrl-C to stop.` : 'Connected again.')
      isNew = false
    }
  }
}

interface Place {
  kind: 'project' | 'team'
  topic: string
  name: string
  /** Events for the user alone also come from other projects. */
  has(event: LiveEvent): boolean
}

async function placeOf(client: Client, project: string | undefined): Promise<Place> {
  if (project === undefined) {
    const { id, name } = await client.get<{ id: string; name: string }>('/api/team')
    return { kind: 'team', topic: `organization:${id}`, name, has: () => true }
  }
  const { id, name } = await client.get<{ id: string; name: string }>(at('/api/projects/:ref', project))
  return { kind: 'project', topic: `project:${id}`, name, has: ({ projectId }) => projectId === id }
}

/** Returns false if the reader has closed the pipe, as after `| head -1`. */
async function printEvent(event: LiveEvent, json: boolean | undefined): Promise<boolean> {
  const time = new Date(event.at).toLocaleTimeString('sv-SE')
  const line = json
    ? jsonText(event)
    : guarded(`${dim(time)}  ${plain(inFull(event.actor))} ${plain(event.description)}`, 1)
  try {
    await Bun.write(Bun.stdout, `${line}\n`)
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EPIPE') return false
    throw error
  }
}
