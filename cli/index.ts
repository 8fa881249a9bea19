#!/usr/bin/env bun
import { Command } from 'commander'
import { version } from '../src/version.ts'

// Elysia is slow and talkative about bad input unless it knows; whoever runs from source may say otherwise.
process.env.NODE_ENV ??= 'production'

/** The entry of the binary. Commands are loaded when they are called, so that `--version` and `--help` stay instant. */
const program = new Command('tutti')
  .description('People and AI agents plan and do software work together, in one self-hosted binary.')
  .version(version)
  .configureHelp({ sortSubcommands: false })
  .showHelpAfterError('(run with --help for the options)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))

const configured = (command: Command) =>
  command
    .option('--data-dir <folder>', 'where database, secrets and uploads are kept (DATA_DIR)')
    .option('--config <file>', 'KEY=VALUE settings (CONFIG_FILE)')

configured(program.command('serve').description('Run the server'))
  .option('--host <address>', 'address to listen on (HOST), 127.0.0.1 unless told')
  .option('--port <number>', 'port to listen on (PORT), 4242 unless told')
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
remote(program.command('logout').description('End the session on the server and forget it here')).action(async (options) =>
  (await import('./commands/session.ts')).logout(options),
)
remote(program.command('whoami').description('Who you are, on which server and in which team')).action(async (options) =>
  (await import('./commands/session.ts')).whoami(options),
)
remote(program.command('status').description('Whether the server is there and you are signed in')).action(async (options) =>
  (await import('./commands/session.ts')).status(options),
)
const profiles = program
  .command('profiles')
  .description('List the servers you have signed in to')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/session.ts')).listProfiles(options))
profiles
  .command('use')
  .description('Make one of them the one that commands talk to')
  .argument('<name>')
  .action(async (name) => (await import('./commands/session.ts')).useProfile(name))

const admin = program.command('admin').description('Manage administrators, on the machine itself')
configured(admin.command('create').description('Create an administrator, or make an existing account one with a new password'))
  .requiredOption('--email <address>', 'e-mail address')
  .requiredOption('--name <name>', 'full name')
  .option('--password-stdin', 'read the password from standard input')
  .action(async (options) => (await import('./commands/admin.ts')).createAdmin(options))
configured(admin.command('reset-password').description('Set a new password for an account, and end all its sessions, keys and tokens'))
  .requiredOption('--email <address>', 'e-mail address')
  .option('--password-stdin', 'read the password from standard input')
  .action(async (options) => (await import('./commands/admin.ts')).resetPassword(options))

configured(program.command('outbox').description('Print mail that has not been sent, such as codes and links, to read out to its receiver'))
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/outbox.ts')).showOutbox(options))

configured(program.command('migrate').description('Bring the database up to date; a server does this by itself when it starts'))
  .option('--dry-run', 'only show what would be done')
  .action(async (options) => (await import('./commands/migrate.ts')).migrate(options))

configured(program.command('seed').description('Load the default data'))
  .option('--demo', 'also load a demo team to look around in')
  .action(async (options) => (await import('./commands/seed.ts')).seed(options))

const config = configured(
  program.command('config').description('Show every setting, its value and where it came from; secrets are hidden'),
).action(async (options) => (await import('./commands/config.ts')).showConfig(options))
config
  .command('policy')
  .description('Show who may call what')
  .action(async () => (await import('./commands/config.ts')).showPolicy())

program
  .command('sbom')
  .description('Print the list of what this binary contains (CycloneDX)')
  .action(async () => (await import('./commands/sbom.ts')).printSbom())

try {
  await program.parseAsync()
} catch (error) {
  const { report } = await import('./report.ts')
  process.exitCode = report(error)
}
