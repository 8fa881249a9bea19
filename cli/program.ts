import { Argument, type Command, Option } from 'commander'
import { toolsetNames } from '../src/mcp/toolsets.ts'
import { addAdminCommands } from './admin-commands.ts'
import { addLiveCommands } from './live-commands.ts'
import { nouns } from './nouns/index.ts'
import { addNoun, createRootCommand } from './root.ts'
import { addSearchCommands } from './search-commands.ts'
import { addSiteCommands } from './site-commands.ts'
import { addSyncCommands, addTransferCommands } from './sync-commands.ts'
import { addTunnelCommands } from './tunnel-commands.ts'

/** All commands. The code of a command is loaded when it is called. */
export const program = createRootCommand()

const withConfigOptions = (command: Command) =>
  command
    .option('--data-dir <folder>', 'folder for the database, secrets and uploads (DATA_DIR)')
    .option('--config <file>', 'file with KEY=VALUE settings (CONFIG_FILE)')

withConfigOptions(program.command('serve').description('Run the server'))
  .option('--host <address>', 'address to listen on (HOST; default: 127.0.0.1)')
  .option('--port <number>', 'port to listen on (PORT; default: 4242)')
  .option('--demo', 'serve a demo with a fictional team from its own data folder (default: ./tutti-demo)')
  .option('--at <instant>', 'with --demo: stop the clock at this time, for repeatable screenshots')
  .addOption(new Option('--trial', 'without background work').hideHelp())
  .action(async (options) => (await import('./commands/server/serve.ts')).runServer(options))

/** Adds the options of commands that talk to a server as a user. */
const withServerOptions = (command: Command) =>
  command
    .option('--profile <name>', 'profile to use (see: tutti profiles)')
    .option('--server <address>', 'profile to use, by the address of its server')
    .option('--json', 'print JSON')

program
  .command('login')
  .description('Sign in to a server with a code that you approve in a browser')
  .argument('[address]', 'address of the server, such as tutti.example.com (default: the last one used)')
  .option('--profile <name>', "name for this sign-in (default: the server's name)")
  .option('--no-browser', 'do not open a browser')
  .option('--with-token', 'read an API key (svc_…) from standard input instead')
  .option('--json', 'print JSON')
  .action(async (address, options) => (await import('./commands/login.ts')).login(address, options))
withServerOptions(program.command('logout').description('Sign out: end the session and delete its credentials')).action(
  async (options) => (await import('./commands/profiles.ts')).logout(options),
)
withServerOptions(program.command('whoami').description('Show your user, server and team')).action(async (options) =>
  (await import('./commands/profiles.ts')).showUser(options),
)
withServerOptions(
  program.command('status').description('Check that the server is reachable and you are signed in'),
).action(async (options) => (await import('./commands/profiles.ts')).showStatus(options))
const profiles = program
  .command('profiles')
  .description('List the servers you have signed in to')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/profiles.ts')).listProfiles(options))
profiles
  .command('use')
  .description('Choose the server that commands talk to')
  .argument('<profile>', 'name from: tutti profiles')
  .option('--json', 'print JSON')
  .action(async (name, _, command) =>
    (await import('./commands/profiles.ts')).useProfile(name, command.optsWithGlobals()),
  )

// Nouns that are not on the command line are only listed in the help, so their verbs are not loaded.
for (const [name, noun] of Object.entries(nouns))
  if (process.argv.includes(name)) await addNoun(program, name, noun)
  else program.command(name).description(noun.about)
addSearchCommands(program, withServerOptions)
program
  .command('link')
  .description('Link this folder to a default project; without an argument, show the link')
  .argument('[project]', 'project: id, slug or key')
  .option('--remove', 'remove the link')
  .option('--json', 'print JSON')
  .option('--profile <name>', 'profile to use (see: tutti profiles)')
  .option('--server <address>', 'profile to use, by the address of its server')
  .action(async (project, options) => (await import('./commands/link.ts')).linkFolder(project, options))

addLiveCommands(program, withServerOptions)
addSyncCommands(program, withServerOptions)
addTransferCommands(program, withServerOptions)
addTunnelCommands(program, withServerOptions)

const mcp = program
  .command('mcp')
  .description('Connect an MCP client to the server over standard input and output')
  .option('--profile <name>', 'profile to use (see: tutti profiles)')
  .option('--server <address>', 'profile to use, by the address of its server')
  .option('--toolsets <names>', `only these toolsets, separated by commas: ${toolsetNames.join(', ')}`)
  .option('--readonly', 'only tools that do not change anything')
  .action(async (options) => (await import('./commands/agents/mcp.ts')).runBridge(options))
mcp
  .command('cost')
  .description('Show how many tokens the list of tools costs an agent')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/agents/tool-costs.ts')).showToolCosts(options))
program
  .command('connect')
  .description('Add this server to the settings of an agent program, such as Claude Code')
  .addArgument(
    new Argument('<program>').choices([
      'claude-code',
      'codex',
      'cursor',
      'vscode',
      'gemini',
      'opencode',
      'windsurf',
      'zed',
    ]),
  )
  .option('--print', 'print the settings and hooks without writing files or creating a token')
  .option('--expires <time>', 'lifetime of the token, such as 30d or 12w, at most 90d (default: 90d)')
  .option('--token', 'create a token even if the program can sign in by itself')
  .option('--stdio', 'connect through `tutti mcp`, which keeps the token out of the file')
  .option('--no-hooks', 'do not install hooks')
  .option('-p, --project <project>', "default project of the agent's calls")
  .option('--only <project>', 'limit the agent to this project (repeatable)', (ref: string, before: string[] = []) => [
    ...before,
    ref,
  ])
  .option(
    '--toolsets <names>',
    `only these toolsets, separated by commas: ${toolsetNames.join(', ')} (default: all tools)`,
  )
  .option('--tunnel <tunnel/server>', 'connect to an MCP server behind a tunnel instead, such as build-1/fs')
  .option('-y, --yes', 'replace an existing entry')
  .option('--json', 'print JSON')
  .option('--profile <name>', 'profile to use (see: tutti profiles)')
  .option('--server <address>', 'profile to use, by the address of its server')
  .action(async (name, options) => (await import('./commands/agents/connect.ts')).connectProgram(name, options))
program
  .command('hook', { hidden: true })
  .argument('[what]', 'context or checkpoint')
  // An unknown option must not stop the agent.
  .allowUnknownOption()
  .allowExcessArguments()
  .action(async (what) => (await import('./commands/agents/hook.ts')).runHook(what))
program
  .command('completion')
  .description('Print the completion script for bash, zsh or fish')
  .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
  .action(async (shell) => (await import('./commands/completion.ts')).printCompletion(shell))
program
  .command('complete', { hidden: true })
  .argument('[words...]')
  .action(async (words) => (await import('./commands/completion.ts')).printSuggestions(words, program))

addAdminCommands(program, withConfigOptions)
withConfigOptions(
  program.command('outbox').description('Print unsent mail, such as sign-in codes, so that you can forward it'),
)
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/server/outbox.ts')).showOutbox(options))
addSiteCommands(program, withConfigOptions)

const migrate = program.command('migrate').description('Update the database schema; a server does this when it starts')
const withMigrateOptions = (command: Command) => withConfigOptions(command).option('--json', 'print JSON')
withMigrateOptions(migrate)
  .option('--dry-run', 'only show what would be applied')
  .action(async (options) => (await import('./commands/server/migrate.ts')).runMigrations(options))
withMigrateOptions(migrate.command('up').description('Apply pending migrations (default)'))
  .option('--dry-run', 'only show what would be applied')
  .action(async (_, command) => (await import('./commands/server/migrate.ts')).runMigrations(command.optsWithGlobals()))
withMigrateOptions(migrate.command('status').description('Show applied and pending migrations')).action(
  async (_, command) =>
    (await import('./commands/server/migrate.ts')).runMigrations({ ...command.optsWithGlobals(), dryRun: true }),
)

withConfigOptions(program.command('backup').description('Save all data to one file; the server may keep running'))
  .argument('<file>', 'new file; "-" writes to standard output')
  .option('--json', 'print JSON')
  .addHelpText(
    'after',
    `
The file contains everything, including the master secret if it is stored in the
data folder: whoever has the file can sign in as anyone. Only you can read it;
keep it that way. A secret set by TUTTI_SECRET is not in the file; you need it
to restore the backup. If BACKUP_DIR is set, the server also makes backups: one
every BACKUP_EVERY_HOURS (24 by default). It keeps the last BACKUP_KEEP (7).`,
  )
  .action(async (file, options) => (await import('./commands/server/backup.ts')).backup(file, options))
withConfigOptions(
  program.command('restore').description('Restore a backup to the data folder or DATABASE_URL; stop the server first'),
)
  .argument('<file>', 'file made by tutti backup; "-" reads standard input')
  .option('--replace', 'replace existing data, which is saved to the data folder first')
  .option('-v, --verbose', 'also print how many rows each table has')
  .option('--json', 'print JSON')
  .addHelpText(
    'after',
    `
The whole file is verified before anything is changed, and every row is read
back and compared. To continue an interrupted restore, run the same command
again; no server starts on the data until the restore is complete.`,
  )
  .action(async (file, options) => (await import('./commands/server/backup.ts')).restore(file, options))
const db = program.command('db').description('Manage the database')
withConfigOptions(
  db.command('move').description('Copy all data between the embedded database and Postgres; stop the server first'),
)
  .requiredOption('--to <place>', 'postgres://…, - to read the address from standard input, or embedded')
  .option('--replace', 'replace existing data, which is saved to the data folder first')
  .option('-v, --verbose', 'also print how many rows each table has')
  .option('--json', 'print JSON')
  .addHelpText(
    'after',
    `
The original data stays unchanged. To continue an interrupted move, run the same
command again.`,
  )
  .action(async (options) => (await import('./commands/server/backup.ts')).move(options))

withConfigOptions(program.command('doctor').description('Check this server and suggest how to fix problems'))
  .option('-v, --verbose', 'print every check, not only problems and warnings')
  .option('--repair', 'fix wrong counts and wrong blocked states of tasks')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/server/doctor.ts')).runDoctor(options))
const service = program.command('service').description('Run the server as a service (systemd, launchd)')
withConfigOptions(service.command('install').description('Start the server now and whenever the computer starts'))
  .option('--host <address>', 'address to listen on')
  .option('--port <number>', 'port to listen on')
  .option('--user <name>', 'user that runs the server (only as root)')
  .option('--tunnel', 'install the tunnel of this machine instead of a server')
  .option('--print', 'only print the unit file')
  .option('-y, --yes', 'replace an existing unit file')
  .option('--json', 'print JSON')
  .action(async ({ tunnel, ...options }) => {
    const service = await import('./commands/server/service.ts')
    return tunnel ? service.installTunnel(options) : service.installServer(options)
  })
service
  .command('uninstall')
  .description('Stop and remove the service; data is kept')
  .option('--tunnel', 'remove the service of the tunnel')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/server/service.ts')).uninstallService(options))
withConfigOptions(service.command('status').description('Show whether the service is installed and running'))
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/server/service.ts')).showServiceStatus(options))
withConfigOptions(
  program.command('upgrade').description('Replace this binary with another version, after a backup and a trial run'),
)
  .requiredOption('--file <binary>', 'the new binary')
  .option('--sha256 <sum>', 'expected checksum (default: from <binary>.sha256 or SHA256SUMS next to it)')
  .option('--wait <seconds>', 'how long the new version may take to start (default: 120)')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/server/upgrade.ts')).upgradeBinary(options))

withConfigOptions(program.command('seed').description('Load the default data'))
  .option('--demo', 'also load example projects to explore')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/server/seed.ts')).loadSeeds(options))

const config = withConfigOptions(
  program.command('config').description('Show all settings with their values and sources; secrets are hidden'),
)
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/server/config.ts')).showConfig(options))
config
  .command('policy')
  .description('Show the permissions that each action requires')
  .option('--json', 'print JSON')
  .action(async (_, command) => (await import('./commands/server/config.ts')).showPolicy(command.optsWithGlobals()))
config
  .command('routes')
  .description('Show every route of the web API with its action and who may call it')
  .option('--json', 'print JSON')
  .action(async (_, command) => (await import('./commands/server/config.ts')).showRoutes(command.optsWithGlobals()))
config
  .command('events')
  .description('Show every event that the server records, with its fields')
  .option('--json', 'print JSON')
  .action(async (_, command) => (await import('./commands/server/config.ts')).showEvents(command.optsWithGlobals()))

program
  .command('sbom')
  .description('Print the software bill of materials (CycloneDX)')
  .action(async () => (await import('./commands/server/sbom.ts')).printSbom())
