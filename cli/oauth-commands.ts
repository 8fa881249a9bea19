import type { Command } from 'commander'

/** Adds `tutti oauth clients`, which operators run on the server. */
export function extend(oauth: Command): void {
  const local = (command: Command) =>
    command
      .option('--data-dir <folder>', 'folder for the database, secrets and uploads (DATA_DIR)')
      .option('--config <file>', 'file with KEY=VALUE settings (CONFIG_FILE)')
      .option('--json', 'print JSON')
  const load = () => import('./commands/server/oauth-clients.ts')
  const clients = oauth
    .command('clients')
    .description('Manage OAuth clients: programs that users can authorize (run on the server)')
  local(clients.command('list').description('List OAuth clients, newest first'))
    .option('--limit <number>', 'maximum number of results (default: 50)')
    .action(async (options) => (await load()).listClients(options))
  local(clients.command('add').description('Add an OAuth client that cannot register itself'))
    .argument('<name>', 'name that users see')
    .argument('<address...>', 'redirect addresses of the program')
    .action(async (name, addresses, options) => (await load()).addClient(name, addresses, options))
  local(clients.command('remove').description('Remove an OAuth client and revoke its access'))
    .argument('<id>', 'client id')
    .action(async (id, options) => (await load()).removeClient(id, options))
}
