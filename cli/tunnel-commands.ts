import { type Command, Option } from 'commander'

const repeated = (value: string, before: string[] = []): string[] => [...before, value]
const whoOption = () => {
  const option = new Option(
    '--who <who>',
    'who may use it: owner, members, anyone, or the id of a user (repeatable; default: owner)',
  ).argParser(repeated)
  option.argChoices = ['owner', 'members', 'anyone']
  return option
}
const accessOption = () => {
  const option = new Option('--access <access>', 'who may reach it at all: private, organization or public')
  option.argChoices = ['private', 'organization', 'public']
  return option
}

/** Adds `tutti tunnel` with its subcommands. `remote` adds the options of commands that talk to a server. */
export function addTunnel(program: Command, remote: (command: Command) => Command): void {
  const tunnel = program
    .command('tunnel')
    .description('Let your team reach services on this machine')
    .addHelpText(
      'after',
      `
The machine dials out to the server, so it needs no open port. What it offers,
and to whom, is decided by tunnel.json on the machine itself.`,
    )
  remote(tunnel.command('up').description('Connect this machine, until Ctrl-C'))
    .addOption(
      new Option('--http <service>', 'offer a local port or address, such as web=3000 (repeatable)').argParser(
        repeated,
      ),
    )
    .addOption(whoOption())
    .option('--name <name>', "name of the tunnel (default: this machine's)")
    .addOption(accessOption())
    .option('--claim <nonce>', 'claim a tunnel that somebody registered; needs --server and no sign-in')
    .action(async (options) => (await import('./commands/tunnel-up.ts')).up(options))
  tunnel
    .command('add')
    .description('Offer a service of this machine; takes effect with the next: tutti tunnel up')
    .argument('<service>', 'port or address, such as web=3000 or api=unix:/run/api.sock')
    .addOption(whoOption())
    .option('--json', 'print JSON')
    .action(async (service, options) => (await import('./commands/tunnel-up.ts')).add(service, options))
  remote(tunnel.command('list').description('List the tunnels of your team')).action(async (options) =>
    (await import('./commands/tunnel.ts')).list(options),
  )
  remote(tunnel.command('status').description('Show the connection of a tunnel, its services and traffic'))
    .argument('<tunnel>', 'id or slug')
    .action(async (ref, options) => (await import('./commands/tunnel.ts')).status(ref, options))
  remote(tunnel.command('update').description('Change a tunnel'))
    .argument('<tunnel>', 'id or slug')
    .option('--name <name>', 'new name')
    .addOption(accessOption())
    .option('--pause', 'let nobody through; the machine stays connected')
    .option('--resume', 'let people through again')
    .action(async (ref, options) => (await import('./commands/tunnel.ts')).update(ref, options))
  remote(tunnel.command('rm').description('Delete a tunnel and cut its machine off'))
    .argument('<tunnel>', 'id or slug')
    .action(async (ref, options) => (await import('./commands/tunnel.ts')).remove(ref, options))
}
