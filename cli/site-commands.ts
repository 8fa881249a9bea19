import type { Command } from 'commander'
import type { TextNoun } from './commands/server/site-texts.ts'

/** Adds `settings`, `pages` and `posts`, which operators run on the server. */
export function addSiteCommands(program: Command, configured: (command: Command) => Command): void {
  const local = (command: Command) => configured(command).option('--json', 'print JSON')
  const settings = program.command('settings').description('Show and change server settings (run on the server)')
  local(settings.command('list').description('List settings with their values'))
    .argument('[key]', 'only this setting, such as general or blog, with descriptions of its fields')
    .action(async (key, options) => (await import('./commands/server/settings.ts')).listSettings(key, options))
  local(settings.command('set').description('Change a field of a setting'))
    .argument('<field>', 'key and field, such as general.siteName')
    .argument('[value]', 'new value: on or off for a switch, commas between list items (default: read standard input)')
    .action(async (field, value, options) =>
      (await import('./commands/server/settings.ts')).setSetting(field, value, options),
    )
  local(settings.command('unset').description('Reset a field of a setting to its default'))
    .argument('<field>', 'key and field, such as general.siteName')
    .action(async (field, options) => (await import('./commands/server/settings.ts')).unsetSetting(field, options))
  for (const noun of ['pages', 'posts'] as const) addTextCommands(program.command(noun), noun, local)
}

const one: Record<TextNoun, string> = { pages: 'page of the public site', posts: 'post of the blog' }

function addTextCommands(command: Command, noun: TextNoun, local: (command: Command) => Command): void {
  const load = () => import('./commands/server/site-texts.ts')
  const writing = (verb: Command) =>
    local(verb)
      .option('--slug <slug>', 'last part of the address (default: made from the title)')
      .option('--description <text>', 'description for search engines')
      .option('--file <file>', 'Markdown file with the text; "-" reads standard input')
      .option('--publish', 'publish it now')
      .option('--at <instant>', 'publish it at this time, such as 2026-12-24T09:00Z')
      .option('--draft', 'make it a draft, which visitors do not see')
  command.description(`Manage ${one[noun].replace(/^\w+/, noun)} (run on the server)`)
  local(command.command('list').description(`List ${noun}, last changed first`))
    .option('--search <text>', 'only titles that contain this text')
    .option('--deleted', 'list those deleted in the last 30 days instead')
    .action(async (options) => (await load()).listTexts(noun, options))
  local(command.command('show').description(`Print a ${one[noun]}`))
    .argument('<ref>', 'slug or id')
    .action(async (ref, options) => (await load()).showText(noun, ref, options))
  writing(command.command('create').description(`Create a ${one[noun]}`))
    .argument('<title>', 'title')
    .action(async (title, options) => (await load()).createText(noun, title, options))
  writing(command.command('update').description(`Change a ${one[noun]}`))
    .argument('<ref>', 'slug or id')
    .option('--title <title>', 'new title')
    .action(async (ref, options) => (await load()).updateText(noun, ref, options))
  local(command.command('delete').description(`Delete a ${one[noun]}`))
    .argument('<ref>', 'slug or id')
    .action(async (ref, options) => (await load()).deleteText(noun, ref, options))
  local(command.command('restore').description(`Restore a ${one[noun]} that was deleted in the last 30 days`))
    .argument('<ref>', 'slug or id')
    .action(async (ref, options) => (await load()).restoreText(noun, ref, options))
}
