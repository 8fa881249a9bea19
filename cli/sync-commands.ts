import { Argument, type Command, Option } from 'commander'

/** Adds `tutti sync` with its subcommands. `remote` adds the options of commands that talk to a server. */
export function addSync(program: Command, remote: (command: Command) => Command): void {
  const syncing = remote(program.command('sync').description('Send and receive changes of the copy on this computer'))
    .option('--watch', 'keep syncing until Ctrl-C, as changes are made')
    .addHelpText(
      'after',
      `
With a copy, projects, tasks, notes, decisions, memory and search also work
while the server cannot be reached, or with --offline. Changes are queued until
the next tutti sync.`,
    )
    .action(async (options) => (await import('./commands/sync.ts')).sync(options))
  remote(syncing.command('on').description('Create the copy, or choose what it holds'))
    .addOption(
      new Option('-p, --project <project>', 'only this project (repeatable; default: all you see)').argParser(
        (value: string, before: string[] = []) => [...before, value],
      ),
    )
    .action(async (_, command) => (await import('./commands/sync.ts')).on(command.optsWithGlobals()))
  remote(syncing.command('status').description('Show the state of the copy, and what is queued')).action(
    async (_, command) => (await import('./commands/sync.ts')).syncStatus(command.optsWithGlobals()),
  )
  remote(syncing.command('conflicts').description('List changes that others had made too')).action(async (_, command) =>
    (await import('./commands/sync-conflicts.ts')).conflicts(command.optsWithGlobals()),
  )
  remote(syncing.command('resolve').description('Decide which value of a conflict is stored'))
    .argument('<conflict>', 'id from: tutti sync conflicts')
    .addArgument(
      new Argument('<choice>', "server: keep the server's; mine: store mine").choices(['server', 'mine', 'value']),
    )
    .option('--value <text>', 'value to store instead of both, with the choice value; text or JSON')
    .action(async (conflict, choice, _, command) =>
      (await import('./commands/sync-conflicts.ts')).resolve(conflict, choice, command.optsWithGlobals()),
    )
  remote(syncing.command('rejected').description('List changes that the server refused; they are not lost'))
    .option('--retry <id>', 'queue this one again; all means all of them')
    .option('--forget <id>', 'drop this one; all means all of them')
    .action(async (_, command) => (await import('./commands/sync-conflicts.ts')).rejected(command.optsWithGlobals()))
  addBundles(syncing, remote)
  remote(syncing.command('off').description('Delete the copy on this computer'))
    .option('-y, --yes', 'even if changes are lost that were not sent')
    .action(async (_, command) => (await import('./commands/sync.ts')).off(command.optsWithGlobals()))
}

/** Adds the commands that exchange files with a computer that has no network. */
function addBundles(syncing: Command, remote: (command: Command) => Command): void {
  remote(
    syncing.command('export').description('Write changes to a file, for a server that this computer does not reach'),
  )
    .argument('<file>', 'new file, such as out.tutti')
    .option('--force', 'replace the file')
    .action(async (file, _, command) =>
      (await import('./commands/sync-bundles.ts')).exportBundle(file, command.optsWithGlobals()),
    )
  remote(syncing.command('carry').description("Send another computer's file to the server, and write the response"))
    .argument('<file>', 'file from: tutti sync export')
    .argument('<response>', 'new file, such as back.tutti')
    .option('--force', 'replace the response file')
    .option('-y, --yes', 'do not ask whether the key of the other computer is right')
    .action(async (file, response, _, command) =>
      (await import('./commands/sync-bundles.ts')).carry(file, response, command.optsWithGlobals()),
    )
  remote(syncing.command('import').description('Read the response of the server from a file'))
    .argument('<file>', 'file from: tutti sync carry')
    .action(async (file, _, command) =>
      (await import('./commands/sync-bundles.ts')).importBundle(file, command.optsWithGlobals()),
    )
}

/** Adds the commands that move a team's data to another instance. */
export function addTransfer(program: Command, remote: (command: Command) => Command): void {
  remote(program.command('export').description('Save all that you see in your team to a file, with comments and links'))
    .argument('<file>', 'new file, such as tutti.ndjson')
    .option('-p, --project <project>', 'only this project: id, slug or key')
    .option('--force', 'replace the file')
    .action(async (file, options) => (await import('./commands/transfer.ts')).exportFile(file, options))
  remote(program.command('import').description('Store an export of another instance in your team; can be repeated'))
    .argument('<file>', 'file from: tutti export')
    .addHelpText(
      'after',
      `
Ids, times, versions and numbers stay; people are found by their e-mail address.
Import a newer export into the same team to take what changed there since. What
changed on both sides stays as it is here, and is listed.`,
    )
    .action(async (file, options) => (await import('./commands/transfer.ts')).importFile(file, options))
}
