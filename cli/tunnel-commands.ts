import { type Command, Option } from 'commander'

const collectRepeated = (value: string, before: string[] = []): string[] => [...before, value]
const splitList = (value: string): string[] =>
  value
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
const whoOption = () => {
  const option = new Option(
    '--who <who>',
    'who can use it: owner, members, anyone, or the id of a user (repeatable; default: owner)',
  ).argParser(collectRepeated)
  option.argChoices = ['owner', 'members', 'anyone']
  return option
}
const accessOption = () => {
  const option = new Option('--access <access>', 'who can reach the tunnel: private, organization or public')
  option.argChoices = ['private', 'organization', 'public']
  return option
}

/** Adds `tutti tunnel` with its subcommands. `remote` adds the options of commands that talk to a server. */
export function addTunnelCommands(program: Command, remote: (command: Command) => Command): void {
  const tunnel = program
    .command('tunnel')
    .description('Let your team reach services on this machine')
    .addHelpText(
      'after',
      `
The machine connects to the server, so it needs no open port. The file
tunnel.json on the machine lists its services and who can use them.`,
    )
  addConnectCommands(tunnel, remote)
  remote(tunnel.command('list').description('List the tunnels of your team')).action(async (options) =>
    (await import('./commands/tunnel/tunnels.ts')).listTunnels(options),
  )
  remote(tunnel.command('status').description('Show the connection of a tunnel, its services and traffic'))
    .argument('<tunnel>', 'id or slug')
    .action(async (ref, options) => (await import('./commands/tunnel/tunnels.ts')).showTunnel(ref, options))
  remote(tunnel.command('update').description('Rename, pause or resume a tunnel, or change who can reach it'))
    .argument('<tunnel>', 'id or slug')
    .option('--name <name>', 'new name')
    .addOption(accessOption())
    .option('--pause', 'refuse all requests; the machine stays connected')
    .option('--resume', 'accept requests again')
    .action(async (ref, options) => (await import('./commands/tunnel/tunnels.ts')).updateTunnel(ref, options))
  addActionCommands(tunnel, remote)
  addLocalCommands(tunnel)
  remote(tunnel.command('rm').description('Delete a tunnel and disconnect its machine'))
    .argument('<tunnel>', 'id or slug')
    .action(async (ref, options) => (await import('./commands/tunnel/tunnels.ts')).deleteTunnel(ref, options))
}

/** Commands that connect this machine. */
function addConnectCommands(tunnel: Command, remote: (command: Command) => Command): void {
  remote(tunnel.command('up').description('Connect this machine, until Ctrl-C'))
    .addOption(
      new Option('--http <service>', 'offer a local port or address, such as web=3000 (repeatable)').argParser(
        collectRepeated,
      ),
    )
    .addOption(
      new Option(
        '--mcp <server>',
        "offer an MCP server: a command or address, such as fs='npx -y some-server /srv' (repeatable)",
      ).argParser(collectRepeated),
    )
    .addOption(whoOption())
    .option('--name <name>', "name of the tunnel (default: this machine's)")
    .addOption(accessOption())
    .option(
      '--claim <nonce>',
      'claim a registered tunnel with its nonce; "-" reads standard input; needs --server and no sign-in',
    )
    .action(async (options) => (await import('./commands/tunnel/up.ts')).runTunnel(options))
  tunnel
    .command('add')
    .description('Add a service or an MCP server of this machine; takes effect at the next tutti tunnel up')
    .argument(
      '<service>',
      'name and port or address, such as web=3000 or api=unix:/run/api.sock; with --mcp: name and command',
    )
    .option('--mcp', "add an MCP server, such as fs='npx -y some-server /srv' or db=http://127.0.0.1:3001/mcp")
    .option('--tools <names>', 'tools of the MCP server to allow, separated by commas (default: all)', splitList)
    .addOption(whoOption())
    .option('--json', 'print JSON')
    .action(async (service, options) => (await import('./commands/tunnel/up.ts')).addTunnelEntry(service, options))
}

/** Commands that use other machines. */
function addActionCommands(tunnel: Command, remote: (command: Command) => Command): void {
  remote(tunnel.command('run').description('Run a command that a machine offers, and print its output'))
    .argument('<tunnel>', 'id or slug')
    .argument('[command]', 'name of the command (default: list the commands)')
    .argument('[params...]', 'parameters of the command, as name=value')
    .action(async (ref, command, params, options) =>
      (await import('./commands/tunnel/actions.ts')).runTunnelCommand(ref, command, params, options),
    )
  remote(tunnel.command('tools').description('List the tools of an MCP server on a machine'))
    .argument('<server>', 'tunnel and server, such as build-1/fs')
    .action(async (place, options) => (await import('./commands/tunnel/actions.ts')).listTunnelTools(place, options))
  remote(tunnel.command('call').description('Call a tool of an MCP server on a machine'))
    .argument('<server>', 'tunnel and server, such as build-1/fs')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments...]', 'arguments of the tool, as name=value; a value can be JSON')
    .action(async (place, tool, given, options) =>
      (await import('./commands/tunnel/actions.ts')).callTunnelTool(place, tool, given, options),
    )
  remote(tunnel.command('open').description('Open a service on a port of this computer, signed in as you'))
    .argument('<service>', 'tunnel and service, such as build-1/web')
    .option('--port <port>', 'port of this computer (default: any free port)')
    .action(async (place, options) => (await import('./commands/tunnel/open.ts')).openService(place, options))
}

/** Commands about the tunnel that runs on this machine. They need neither a server nor a login. */
function addLocalCommands(tunnel: Command): void {
  tunnel
    .command('logs')
    .description('List the last requests to this machine')
    .option('-f, --follow', 'keep printing new requests, until Ctrl-C')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/tunnel/local.ts')).printLogs(options))
  tunnel
    .command('replay')
    .description('Send a logged request to its service again')
    .argument('<number>', 'number of the request in: tutti tunnel logs')
    .option('--json', 'print JSON')
    .action(async (n, options) => (await import('./commands/tunnel/local.ts')).replayRequest(n, options))
  tunnel
    .command('confirm')
    .description('Allow an action that is waiting for confirmation at this machine')
    .argument('[action]', 'id, or its beginning (default: list the waiting actions)')
    .option('--decline', 'decline the action instead')
    .option('--json', 'print JSON')
    .action(async (id, options) => (await import('./commands/tunnel/local.ts')).confirmAction(id, options))
  tunnel
    .command('down')
    .description('Disconnect this machine')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/tunnel/local.ts')).stopTunnel(options))
}
