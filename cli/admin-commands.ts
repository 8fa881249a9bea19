import type { Command } from 'commander'

/** Adds `admin`. `configured` adds the options of commands that need the settings of a server. */
export function addAdminCommands(program: Command, configured: (command: Command) => Command): void {
  const admin = program
    .command('admin')
    .description('Manage administrators, and read the audit log (run on the server)')
  configured(
    admin.command('create').description('Create an administrator, or promote an existing account with a new password'),
  )
    .requiredOption('--email <address>', 'e-mail address')
    .requiredOption('--name <name>', 'full name')
    .option('--password-stdin', 'read the password from standard input')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/server/admin.ts')).createAdmin(options))
  configured(
    admin
      .command('reset-password')
      .description('Set a new password, and end all sessions, keys and tokens of the account'),
  )
    .requiredOption('--email <address>', 'e-mail address')
    .option('--password-stdin', 'read the password from standard input')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/server/admin.ts')).resetPassword(options))
  configured(admin.command('audit').description('Print who did what on this server'))
    .option('--person <name>', 'only what people or agents with this name or address did, or what was done to them')
    .option('--type <type>', 'only events whose type begins like this, such as user. or user.signed_in')
    .option('--day <date>', 'only this day, such as 2026-11-18')
    .option('-n, --limit <number>', 'maximum number of entries', '50')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/server/audit.ts')).showAudit(options))
}
