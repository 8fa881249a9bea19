import { Argument, type Command, Option } from 'commander'

/** Adds `tutti sync` with its subcommands. `remote` adds the options of commands that talk to a server. */
export function addSyncCommands(program: Command, remote: (command: Command) => Command): void {
  const syncing = remote(program.command('sync').description('Sync the copy on this computer with the server'))
    .option('--watch', 'keep syncing as changes happen, until Ctrl-C')
    .addHelpText(
      'after',
      `
With a copy, the commands for projects, tasks, notes, decisions, memory and
search also work while the server cannot be reached, or with --offline. Changes
are queued, and the next tutti sync sends them.`,
    )
    .action(async (options) => (await import('./commands/sync/sync.ts')).syncCopy(options))
  remote(syncing.command('on').description('Create the copy, or choose the projects in it'))
    .addOption(
      new Option(
        '-p, --project <project>',
        'only this project (repeatable; default: all you have access to)',
      ).argParser((value: string, before: string[] = []) => [...before, value]),
    )
    .action(async (_, command) => (await import('./commands/sync/sync.ts')).createCopy(command.optsWithGlobals()))
  remote(syncing.command('status').description('Show the state of the copy and the number of queued changes')).action(
    async (_, command) => (await import('./commands/sync/sync.ts')).syncStatus(command.optsWithGlobals()),
  )
  remote(syncing.command('conflicts').description('List sync conflicts: fields that someone else changed too')).action(
    async (_, command) => (await import('./commands/sync/conflicts.ts')).listConflicts(command.optsWithGlobals()),
  )
  remote(syncing.command('resolve').description('Resolve a sync conflict by choosing the value to store'))
    .argument('<conflict>', 'id from: tutti sync conflicts')
    .addArgument(
      new Argument('<choice>', "server: keep the server's value; mine: store yours; value: store --value").choices([
        'server',
        'mine',
        'value',
      ]),
    )
    .option('--value <text>', 'with the choice value: the value to store, as text or JSON')
    .action(async (conflict, choice, _, command) =>
      (await import('./commands/sync/conflicts.ts')).resolveConflict(conflict, choice, command.optsWithGlobals()),
    )
  remote(
    syncing.command('rejected').description('List changes that the server rejected; queue them again or discard them'),
  )
    .option('--retry <id>', 'queue the change with this id again; all: every change')
    .option('--forget <id>', 'discard the change with this id; all: every change')
    .action(async (_, command) =>
      (await import('./commands/sync/conflicts.ts')).listRejected(command.optsWithGlobals()),
    )
  addBundleCommands(syncing, remote)
  remote(syncing.command('off').description('Delete the copy on this computer'))
    .option('-y, --yes', 'discard unsent changes')
    .action(async (_, command) => (await import('./commands/sync/sync.ts')).removeCopy(command.optsWithGlobals()))
}

/** Adds the commands that exchange files with a computer that has no network. */
function addBundleCommands(syncing: Command, remote: (command: Command) => Command): void {
  remote(
    syncing.command('export').description('Write queued changes to a file, if this computer cannot reach the server'),
  )
    .argument('<file>', 'new file, such as out.tutti')
    .option('--force', 'replace the file')
    .action(async (file, _, command) =>
      (await import('./commands/sync/bundles.ts')).exportBundle(file, command.optsWithGlobals()),
    )
  remote(
    syncing
      .command('carry')
      .description("Send another computer's file to the server, and write its response to a file"),
  )
    .argument('<file>', 'file from: tutti sync export')
    .argument('<response>', 'new file, such as back.tutti')
    .option('--force', 'replace the response file')
    .option('-y, --yes', 'do not ask to confirm the key of the other computer')
    .action(async (file, response, _, command) =>
      (await import('./commands/sync/bundles.ts')).carryBundle(file, response, command.optsWithGlobals()),
    )
  remote(syncing.command('import').description("Import the server's response from a file"))
    .argument('<file>', 'file from: tutti sync carry')
    .action(async (file, _, command) =>
      (await import('./commands/sync/bundles.ts')).importBundle(file, command.optsWithGlobals()),
    )
}

/** Adds the commands that move a team's data to another instance. */
export function addTransferCommands(program: Command, remote: (command: Command) => Command): void {
  remote(program.command('export').description('Export all records of your team that you have access to'))
    .argument('<file>', 'new file, such as tutti.ndjson')
    .option('-p, --project <project>', 'only this project: id, slug or key')
    .option('--force', 'replace the file')
    .action(async (file, options) => (await import('./commands/sync/transfer.ts')).exportFile(file, options))
  remote(program.command('import').description('Import an export of another server into your team'))
    .argument('<file>', 'file from: tutti export')
    .addHelpText(
      'after',
      `
Records keep their ids, times, versions and numbers. People are matched by their
e-mail address. To update the records later, import a newer export into the same
team. If a field changed on both sides, the import keeps the value of this
server and lists the field.`,
    )
    .action(async (file, options) => (await import('./commands/sync/transfer.ts')).importFile(file, options))
}
