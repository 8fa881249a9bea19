import { command } from '../../control/command.ts'
import type { OauthClient, OauthClientAdd, OauthClientPage, OauthClientQuery } from './schema.ts'

/** Commands that run on the server itself. */
export const clientCommands = {
  list: command<OauthClientQuery, OauthClientPage>('grants.listClients'),
  add: command<OauthClientAdd, OauthClient>('grants.addClient'),
  remove: command<{ id: string }, { id: string; deleted: true }>('grants.removeClient'),
}
