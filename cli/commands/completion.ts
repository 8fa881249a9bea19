import type { Command } from 'commander'
import { build } from '../noun.ts'
import { nouns } from '../nouns/index.ts'

/** Made from the commands themselves, so that it never falls behind. */
export async function completion(shell: string, program: Command): Promise<void> {
  for (const [name, { load }] of Object.entries(nouns)) {
    const noun = program.commands.find((c) => c.name() === name) as Command
    if (noun.commands.length === 0) build(noun, (await load()).verbs)
  }
  console.log(shells[shell as keyof typeof shells](tree(program)).trimEnd())
}

interface Node {
  /** `tasks list` */
  path: string
  words: { word: string; about: string }[]
}

function tree(command: Command, path: string[] = []): Node[] {
  const visible = command
    .createHelp()
    .visibleCommands(command)
    .filter((c) => c.name() !== 'help')
  const words = [
    ...visible.map((c) => ({ word: c.name(), about: c.description() })),
    ...command.options.flatMap((o) => (o.long ? [{ word: o.long, about: o.description }] : [])),
    ...command.registeredArguments.flatMap((a) => a.argChoices ?? []).map((word) => ({ word, about: '' })),
    { word: '--help', about: 'what it does' },
  ]
  return [{ path: path.join(' '), words }, ...visible.flatMap((c) => tree(c, [...path, c.name()]))]
}

const single = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const shells = {
  bash: (nodes: Node[]) => `_tutti() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do [[ \${COMP_WORDS[i]} == -* ]] || path="$path\${path:+ }\${COMP_WORDS[i]}"; done
  while :; do
    case $path in
${nodes.map((n) => `      ${single(n.path)}) words=${single(n.words.map((w) => w.word).join(' '))} ;;`).join('\n')}
    esac
    [[ -z $words && -n $path ]] || break
    [[ $path == *' '* ]] && path=\${path% *} || path=''
  done
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _tutti tutti
`,
  // Not `path`, which is PATH there.
  zsh: (nodes: Node[]) => `#compdef tutti
_tutti() {
  local at='' i
  local -a choices
  for ((i = 2; i < CURRENT; i++)); do [[ \${words[i]} == -* ]] || at="$at\${at:+ }\${words[i]}"; done
  while :; do
    case $at in
${nodes.map((n) => `      (${single(n.path)}) choices=(${n.words.map((w) => single(`${w.word.replaceAll(':', '\\:')}:${w.about}`)).join(' ')}) ;;`).join('\n')}
    esac
    [[ \${#choices} -eq 0 && -n $at ]] || break
    [[ $at == *' '* ]] && at=\${at% *} || at=''
  done
  _describe 'tutti' choices || _files
}
if [[ \${funcstack[1]} == _tutti ]]; then _tutti "$@"; else compdef _tutti tutti; fi
`,
  fish: (nodes: Node[]) => `function __tutti_words
  set -l words (commandline -opc)
  set -e words[1]
  string match -v -- '-*' $words
end
function __tutti_at
  set -l words (__tutti_words)
  test "$words" = "$argv[1]"
end
function __tutti_in
  set -l words (__tutti_words)
  string match -q -- "$argv[1] *" "$words "
end
${nodes
  .flatMap((n) =>
    n.words.map(({ word, about }) =>
      word.startsWith('--')
        ? `complete -c tutti -n ${single(`${n.path ? '__tutti_in' : '__tutti_at'} ${single(n.path)}`)} -l ${word.slice(2)} -d ${single(about)}`
        : `complete -c tutti -n ${single(`__tutti_at ${single(n.path)}`)} -f -a ${word} -d ${single(about)}`,
    ),
  )
  .join('\n')}
`,
}
