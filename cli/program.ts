import { Argument, type Command, Option } from 'commander'
import { nouns } from './nouns/index.ts'
import { addNoun, root } from './root.ts'

/** Every command. What it does is loaded when it is called. */
export const program = root()

const configured = (command: Command) =>
  command
    .option('--data-dir <folder>', 'where database, secrets and uploads are kept (DATA_DIR)')
    .option('--config <file>', 'KEY=VALUE settings (CONFIG_FILE)')

configured(program.command('serve').description('Run the server'))
  .option('--host <address>', 'address to listen on (HOST), 127.0.0.1 unless told')
  .option('--port <number>', 'port to listen on (PORT), 4242 unless told')
  .option('--demo', 'with a team to look around in, where nobody is yet')
  .addOption(new Option('--trial', 'without background work').hideHelp())
  .action(async (options) => (await import('./commands/serve.ts')).serve(options))

/** For commands that talk to a server as a user. */
const remote = (command: Command) =>
  command
    .option('--profile <name>', 'which of your sign-ins to use')
    .option('--server <address>', 'the same, by the address of the server')
    .option('--json', 'print JSON')

program
  .command('login')
  .description('Sign in to a server with a code that you approve in a browser')
  .argument('[address]', 'of the server, such as tutti.example.com; where you were last unless told')
  .option('--profile <name>', 'keep it under this name; the name of the server unless told')
  .option('--no-browser', 'do not open one')
  .option('--with-token', 'read an API key (svc_…) from standard input instead')
  .option('--json', 'print JSON')
  .action(async (address, options) => (await import('./commands/login.ts')).login(address, options))
remote(program.command('logout').description('End the session on the server and forget it here')).action(
  async (options) => (await import('./commands/session.ts')).logout(options),
)
remote(program.command('whoami').description('Who you are, on which server and in which team')).action(
  async (options) => (await import('./commands/session.ts')).whoami(options),
)
remote(program.command('status').description('Whether the server is there and you are signed in')).action(
  async (options) => (await import('./commands/session.ts')).status(options),
)
const profiles = program
  .command('profiles')
  .description('List the servers you have signed in to')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/session.ts')).listProfiles(options))
profiles
  .command('use')
  .description('Make one of them the one that commands talk to')
  .argument('<profile>', 'as in the list')
  .option('--json', 'print JSON')
  .action(async (name, _, command) =>
    (await import('./commands/session.ts')).useProfile(name, command.optsWithGlobals()),
  )

// Those that are not asked for are there to be listed.
for (const [name, noun] of Object.entries(nouns))
  if (process.argv.includes(name)) await addNoun(program, name, noun)
  else program.command(name).description(noun.about)
remote(program.command('search').description('Find anything you may see'))
  .argument('<words...>', 'all of which must occur')
  .option('--kind <kind>', 'only these (again for more)', (value: string, before: string[] = []) => [...before, value])
  .option('-p, --project <project>', "only in this one; the linked folder's unless told")
  .option('--all-projects', 'whatever this folder is linked to')
  .option('-n, --limit <number>', 'at most so many of each kind')
  .action(async (words, options) => (await import('./commands/search.ts')).search(words, options))
program
  .command('link')
  .description('Bind this folder to a project, which is then meant unless told; without one, say which it is')
  .argument('[project]', 'id, slug or key')
  .option('--remove', 'unbind it')
  .option('--json', 'print JSON')
  .option('--profile <name>', 'which of your sign-ins to use')
  .option('--server <address>', 'the same, by the address of the server')
  .action(async (project, options) => (await import('./commands/link.ts')).link(project, options))

const mcp = program
  .command('mcp')
  .description('Speak MCP over standard input and output, for clients that know nothing else')
  .option('--profile <name>', 'which of your sign-ins to use')
  .option('--server <address>', 'the same, by the address of the server')
  .option('--toolsets <names>', 'only these, such as core,notes')
  .option('--readonly', 'only tools that read')
  .action(async (options) => (await import('./commands/mcp.ts')).bridge(options))
mcp
  .command('cost')
  .description('Show what the list of tools costs an agent, in tokens')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/cost.ts')).cost(options))
program
  .command('connect')
  .description("Make a token and write this server into an agent program's settings")
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
  .option('--print', 'only print what to write')
  .option('--stdio', 'through `tutti mcp`, so that no token stands in those settings')
  .option('--no-hooks', 'leave its hooks alone')
  .option('-p, --project <project>', 'what its calls are about unless they name another')
  .option('-y, --yes', 'replace what is there')
  .option('--json', 'print JSON')
  .option('--profile <name>', 'which of your sign-ins to use')
  .option('--server <address>', 'the same, by the address of the server')
  .action(async (name, options) => (await import('./commands/connect.ts')).connect(name, options))
program
  .command('hook', { hidden: true })
  .argument('[what]', 'context or checkpoint')
  // What it does not know must not stop an agent either.
  .allowUnknownOption()
  .allowExcessArguments()
  .action(async (what) => (await import('./commands/hook.ts')).hook(what))
program
  .command('completion')
  .description('Print completion for bash, zsh or fish')
  .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
  .action(async (shell) => (await import('./commands/completion.ts')).completion(shell))
program
  .command('complete', { hidden: true })
  .argument('[words...]')
  .action(async (words) => (await import('./commands/completion.ts')).complete(words, program))

const admin = program.command('admin').description('Manage administrators, on the machine itself')
configured(
  admin.command('create').description('Create an administrator, or make an existing account one with a new password'),
)
  .requiredOption('--email <address>', 'e-mail address')
  .requiredOption('--name <name>', 'full name')
  .option('--password-stdin', 'read the password from standard input')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/admin.ts')).createAdmin(options))
configured(
  admin
    .command('reset-password')
    .description('Set a new password for an account, and end all its sessions, keys and tokens'),
)
  .requiredOption('--email <address>', 'e-mail address')
  .option('--password-stdin', 'read the password from standard input')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/admin.ts')).resetPassword(options))

configured(
  program
    .command('outbox')
    .description('Print mail that has not been sent, such as codes and links, to read out to its receiver'),
)
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/outbox.ts')).showOutbox(options))

const migrate = program
  .command('migrate')
  .description('Bring the database up to date; a server does this by itself when it starts')
const migrating = (command: Command) => configured(command).option('--json', 'print JSON')
migrating(migrate)
  .option('--dry-run', 'only show what would be done')
  .action(async (options) => (await import('./commands/migrate.ts')).migrate(options))
migrating(migrate.command('up').description('The same'))
  .option('--dry-run', 'only show what would be done')
  .action(async (_, command) => (await import('./commands/migrate.ts')).migrate(command.optsWithGlobals()))
migrating(migrate.command('status').description('Show what has been applied and what is to come')).action(
  async (_, command) => (await import('./commands/migrate.ts')).migrate({ ...command.optsWithGlobals(), dryRun: true }),
)

configured(program.command('backup').description('Save all data to one file, while the server goes on'))
  .argument('<file>', 'must not be there yet; - writes to standard output')
  .option('--json', 'print JSON')
  .addHelpText(
    'after',
    `
The file holds everything, also the master secret where it is kept in the data
folder: whoever has it can sign in as anybody. Only you can read it; keep it so.
A secret that is set by TUTTI_SECRET is not in it, and is needed to restore.
BACKUP_DIR makes the server save by itself, every BACKUP_EVERY_HOURS (24), and
keep the last BACKUP_KEEP (7).`,
  )
  .action(async (file, options) => (await import('./commands/backup.ts')).backup(file, options))
configured(
  program
    .command('restore')
    .description('Bring back a backup, into the data folder or DATABASE_URL; the server must be stopped'),
)
  .argument('<file>', 'made by tutti backup; - reads standard input')
  .option('--replace', 'put it in the place of what is there, which is saved to the data folder first')
  .option('--json', 'print JSON')
  .addHelpText(
    'after',
    `
Every byte of the file is checked before anything is changed, and every row is
read back and compared. A restore that was interrupted goes on when the same
command is run again; no server starts on the data until it is complete.`,
  )
  .action(async (file, options) => (await import('./commands/backup.ts')).restore(file, options))
const db = program.command('db').description('Look after the database')
configured(
  db
    .command('move')
    .description('Copy all data between the embedded database and a Postgres; the server must be stopped'),
)
  .requiredOption('--to <place>', 'postgres://…, - to read that from standard input, or embedded')
  .option('--replace', 'put it in the place of what is there, which is saved to the data folder first')
  .option('--json', 'print JSON')
  .addHelpText(
    'after',
    `
What is moved stays where it was, unchanged. A move that was interrupted goes on
when the same command is run again.`,
  )
  .action(async (options) => (await import('./commands/backup.ts')).move(options))

configured(program.command('doctor').description('Look at everything this installation needs, and say what to do'))
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/doctor.ts')).doctor(options))
const service = program.command('service').description('Keep the server running (systemd, launchd)')
configured(service.command('install').description('Start it now and whenever the machine starts'))
  .option('--host <address>', 'address to listen on')
  .option('--port <number>', 'port to listen on')
  .option('--user <name>', 'who runs it, where root installs it')
  .option('--print', 'only print the unit')
  .option('-y, --yes', 'replace what is there')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/service.ts')).install(options))
service
  .command('uninstall')
  .description('Stop it and keep it stopped; data stays')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/service.ts')).uninstall(options))
configured(service.command('status').description('Whether it is installed, runs and answers'))
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/service.ts')).status(options))
configured(
  program
    .command('upgrade')
    .description('Put another binary in the place of this one, with a backup before and a way back'),
)
  .requiredOption('--file <binary>', 'the new one')
  .option('--sha256 <sum>', 'what it must be; else a file with .sha256, or SHA256SUMS, beside it says so')
  .option('--wait <seconds>', 'how long the new one may take to come up, 120 unless told')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/upgrade.ts')).upgrade(options))

configured(program.command('seed').description('Load the default data'))
  .option('--demo', 'also load a demo team to look around in')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/seed.ts')).seed(options))

const config = configured(
  program.command('config').description('Show every setting, its value and where it came from; secrets are hidden'),
)
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/config.ts')).showConfig(options))
config
  .command('policy')
  .description('Show who may call what')
  .option('--json', 'print JSON')
  .action(async (_, command) => (await import('./commands/config.ts')).showPolicy(command.optsWithGlobals()))
config
  .command('events')
  .description('Show every event that the server records, and what is in it')
  .option('--json', 'print JSON')
  .action(async (_, command) => (await import('./commands/config.ts')).showEvents(command.optsWithGlobals()))

program
  .command('sbom')
  .description('Print the list of what this binary contains (CycloneDX)')
  .action(async () => (await import('./commands/sbom.ts')).printSbom())
