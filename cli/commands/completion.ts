import type { Command, Option } from 'commander'
import { readProfiles } from '../api/profiles.ts'

/** What to put into a shell's own settings. The shell asks `tutti complete` what comes next, so it never falls behind. */
export function completion(shell: keyof typeof shells): void {
  console.log(shells[shell])
}

/**
 * What may come in the place of the last word, one a line, with what it is about behind a tab; `:files` where the shell knows better.
 * Only what this machine knows: a key that is pressed in passing asks no server.
 */
export function complete(words: readonly string[], program: Command): void {
  // bash takes `--status=todo` apart.
  const before = words.filter((word) => word !== '=')
  const current = before.pop() ?? ''
  let at = program
  let given = 0
  let open: Option | undefined
  for (const word of before) {
    if (open) open = undefined
    else if (word.startsWith('-')) open = valued(at, word)
    else {
      const next =
        given === 0 ? at.commands.find((command) => [command.name(), ...command.aliases()].includes(word)) : undefined
      if (next) at = next
      else given++
    }
  }
  const [, name = '', value] = /^(--[\w-]+)=(.*)$/.exec(current) ?? []
  const option = open ?? (value === undefined ? undefined : valued(at, name))
  const offers = option
    ? values(option.long === '--profile' ? PROFILE : placeholder(option), choicesOf(option))
    : current.startsWith('-')
      ? options(at)
      : positional(at, given)
  for (const [word, about] of offers) {
    const whole = option && !open ? `${name}=${word}` : word
    if (word === FILES || whole.startsWith(current))
      console.log(about ? `${whole}\t${about.replace(/\s+/g, ' ')}` : whole)
  }
}

const FILES = ':files'
const PROFILE = 'profile'
type Offer = readonly [word: string, about?: string]

const valued = (at: Command, word: string): Option | undefined =>
  at.options.find((o) => [o.short, o.long].includes(word) && (o.required || o.optional))
/** `--file <binary>` wants a binary. */
const placeholder = ({ flags }: Option): string => /[<[]([\w-]+)/.exec(flags)?.[1] ?? ''

/** Many say what they take: `critical, high, medium or low`. */
const choicesOf = ({ argChoices, description }: Option): readonly string[] | undefined =>
  argChoices ?? (/^[a-z_-]+(, [a-z_-]+)* or [a-z_-]+$/.test(description) ? description.split(/, | or /) : undefined)

function values(what: string, choices: readonly string[] | undefined): Offer[] {
  if (choices) return choices.map((choice) => [choice])
  if (['file', 'binary', 'folder'].includes(what)) return [[FILES]]
  return what === PROFILE ? [...readProfiles().all].map(([name, { server }]) => [name, server]) : []
}

const options = (at: Command): Offer[] =>
  at
    .createHelp()
    .visibleOptions(at)
    .map((o) => [o.long ?? (o.short as string), o.description])

function positional(at: Command, given: number): Offer[] {
  const commands = given === 0 ? at.createHelp().visibleCommands(at) : []
  const argument = at.registeredArguments[given] ?? at.registeredArguments.findLast((a) => a.variadic)
  const offers: Offer[] = [
    ...commands.map((command): Offer => [command.name(), command.description()]),
    ...(argument ? values(argument.name(), argument.argChoices) : []),
  ]
  return offers.length > 0 || argument ? offers : options(at)
}

const shells = {
  bash: `# For every shell that you open: source <(tutti completion bash), in ~/.bashrc
_tutti() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _tutti tutti`,
  zsh: `#compdef tutti
# For every shell that you open: source <(tutti completion zsh), in ~/.zshrc after compinit
_tutti() {
  local line
  local -a lines offers
  lines=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ \${lines[1]} == ${FILES} ]]; then _files; return; fi
  for line in $lines; do offers+=("\${\${line//:/\\\\:}/$'\\t'/:}"); done
  _describe tutti offers
}
if [[ \${funcstack[1]} == _tutti ]]; then _tutti "$@"; else compdef _tutti tutti; fi`,
  fish: `# For every shell that you open: tutti completion fish > ~/.config/fish/completions/tutti.fish
function __tutti
  set -l words (commandline -opc)
  set -l lines ($words[1] complete -- $words[2..] (commandline -ct) 2>/dev/null)
  if test "$lines[1]" = ${FILES}
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c tutti -f -a '(__tutti)'`,
} as const
