import { clientCommands } from '../../../src/features/grants/control.ts'
import { runControlCommand } from '../../operating/control.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { printResult, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

type Options = CommonOptions & { json?: boolean }

const ways = {
  document: 'known by its metadata document',
  registered: 'registered itself',
  added: 'added by an administrator',
}

export async function listClients({ json, limit, ...common }: Options & { limit?: string }): Promise<void> {
  const most = limit === undefined ? 50 : Number(limit)
  if (!Number.isInteger(most) || most < 1 || most > 200) throw new Refusal('--limit must be a number from 1 to 200')
  const page = await runControlCommand(loadSettings(common), clientCommands.list, { limit: most })
  const lines = page.items.map(
    ({ id, name, kind, grants }) => `${safeLine(id)}  ${safeLine(name)} (${ways[kind]}, authorized ${grants} times)`,
  )
  printResult(json, page, ...(lines.length > 0 ? lines : ['No programs.']))
}

export async function addClient(name: string, redirectUris: string[], { json, ...common }: Options): Promise<void> {
  const made = await runControlCommand(loadSettings(common), clientCommands.add, { name, redirectUris })
  printResult(json, made, `Users can now authorize ${safeLine(made.name)}. Its client id: ${made.id}`)
}

export async function removeClient(id: string, { json, ...common }: Options): Promise<void> {
  const removed = await runControlCommand(loadSettings(common), clientCommands.remove, { id })
  printResult(json, removed, 'Removed the program and revoked its access.')
}
