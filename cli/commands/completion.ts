import type { Command, Option } from 'commander'
import { readProfiles } from '../api/profiles.ts'

/** Prints the script for a shell. It calls `tutti complete` for suggestions, so it never gets out of date. */
export function printCompletion(shell: keyof typeof shells): void {
  console.log(shells[shell])
}

/**
 * Prints suggestions for the last word, one per line, with a description after a tab, or `:files` for the shell's own
 * file completion. Uses only what is known on this computer: pressing a key sends no request.
 */
export function printSuggestions(words: readonly string[], program: Command): void {
  // bash splits `--status=todo`.
  const before = words.filter((word) => word !== '=')
  const current = before.pop() ?? ''
  let at = program
  let given = 0
  let open: Option | undefined
  for (const word of before) {
    if (open) open = undefined
    else if (word.startsWith('-')) open = optionWithValue(at, word)
    else {
      const next =
        given === 0 ? at.commands.find((command) => [command.name(), ...command.aliases()].includes(word)) : undefined
      if (next) at = next
      else given++
    }
  }
  const [, name = '', value] = /^(--[\w-]+)=(.*)$/.exec(current) ?? []
  const option = open ?? (value === undefined ? undefined : optionWithValue(at, name))
  const offers = option
    ? valueOffers(option.long === '--profile' ? PROFILE : placeholder(option), option.argChoices)
    : current.startsWith('-')
      ? optionOffers(at)
      : argumentOffers(at, given)
  for (const [word, about] of offers) {
    const whole = option && !open ? `${name}=${word}` : word
    if (word === FILES || whole.startsWith(current))
      console.log(about ? `${whole}\t${about.replace(/\s+/g, ' ')}` : whole)
  }
}

const FILES = ':files'
const PROFILE = 'profile'
type Offer = readonly [word: string, about?: string]

const optionWithValue = (at: Command, word: string): Option | undefined =>
  at.options.find((o) => [o.short, o.long].includes(word) && (o.required || o.optional))
/** Returns the name of an option's value: `binary` for `--file <binary>`. */
const placeholder = ({ flags }: Option): string => /[<[]([\w-]+)/.exec(flags)?.[1] ?? ''

function valueOffers(what: string, choices: readonly string[] | undefined): Offer[] {
  if (choices) return choices.map((choice) => [choice])
  if (['file', 'response', 'binary', 'folder'].includes(what)) return [[FILES]]
  return what === PROFILE ? [...readProfiles().all].map(([name, { server }]) => [name, server]) : []
}

const optionOffers = (at: Command): Offer[] =>
  at
    .createHelp()
    .visibleOptions(at)
    .map((o) => [o.long ?? (o.short as string), o.description])

function argumentOffers(at: Command, given: number): Offer[] {
  const commands = given === 0 ? at.createHelp().visibleCommands(at) : []
  const argument = at.registeredArguments[given] ?? at.registeredArguments.findLast((a) => a.variadic)
  const offers: Offer[] = [
    ...commands.map((command): Offer => [command.name(), command.description()]),
    ...(argument ? valueOffers(argument.name(), argument.argChoices) : []),
  ]
  return offers.length > 0 || argument ? offers : optionOffers(at)
}

const shells = {
  bash: `# To load this in every shell, add to ~/.bashrc: source <(tutti completion bash)
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
# To load this in every shell, add to ~/.zshrc after compinit: source <(tutti completion zsh)
_tutti() {
  local line
  local -a lines offers
  lines=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ \${lines[1]} == ${FILES} ]]; then _files; return; fi
  for line in $lines; do offers+=("\${\${line//:/\\\\:}/$'\\t'/:}"); done
  _describe tutti offers
}
if [[ \${funcstack[1]} == _tutti ]]; then _tutti "$@"; else compdef _tutti tutti; fi`,
  fish: `# To load this in every shell: tutti completion fish > ~/.config/fish/completions/tutti.fish
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
