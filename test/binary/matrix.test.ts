import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, onTerminal, tutti } from '../support/binary.ts'
import { EXAMPLE_TOKEN, exampleHost } from '../support/code-host.ts'
import { codeIn } from '../support/mail.ts'
import { allCommands } from './commands.ts'
import { Home, Office } from './home.ts'

/**
 * Every command, against the compiled binary and one server with real data: piped, on a terminal, and with --json.
 * Each way has its own user and team, so that all three begin without records.
 */
const ways = ['piped', 'terminal', 'json'] as const
type Way = (typeof ways)[number]

/**
 * Each command line and its expected output, in an order in which each finds the records it needs. Text after `<` is
 * standard input; `@guest` runs the command as another user; `{notes}` is the beginning of the id of the last note,
 * `{dir}` the data folder, `{way}` the way.
 */
const everyday: [string, RegExp][] = [
  ['status', /runs Tutti \d+\.\d+\.\d+\.\nSigned in as Grace Hopper/],
  ['whoami', /^Grace Hopper <\S+@example\.com>\nServer /],
  ['profiles', /^Profile +Server +You +Current\nlocalhost:\d+ +http:\S+ +\S+@example\.com +yes\n$/],
  ['profiles use {host}', /^Commands now use http:\S+\.\n$/],

  ['teams create "Engines {way}" -d x', /^Team +Engines \w+\nSlug +engines-\w+\nYour role +owner\n/],
  ['teams use {teams}', /^Commands now work with Engines \w+/],
  ['teams list', /^Slug +Name +Your role +Current\n[\s\S]*^engines-\w+ +Engines \w+ +owner +yes\n/m],
  ['teams show', /^Team +Engines \w+\n/],
  ['teams update {teams} --name "Big {way}"', /^Team +Big \w+\n/],
  [
    'teams invite {teams} guest@example.com --role member',
    /^Invited guest@example\.com\.\nThis server sends no mail.*`tutti outbox`\.\n$/,
  ],
  ['teams invites {teams}', /guest@example\.com +member/],
  ['@guest teams invites', /^Id +Team +To +Role .*\n[\da-f]{8}-[\da-f]{4} +Big \w+ +guest@/],
  ['@guest teams join {invites}', /^You joined the team\./],
  ['@guest teams use {teams}', /^Commands now work with Big \w+/],
  ['teams role {teams} guest@example.com member', /^guest@example\.com now has the role member\.\n$/],
  ['teams invite {teams} other@example.com', /^Invited other@example\.com\.\n/],
  ['teams withdraw {teams} other@example.com', /^Withdrew the invite\. Its link no longer works\.\n$/],
  ['teams members', /Grace Hopper +\S+@example\.com +owner\n/],
  ['teams usage', /^Plan: included \(active\)\n/],

  ['teams create Loom-{way}', /^Team +Loom-\w+\n/],
  ['workspaces create "Mill {way}" -d x', /^Workspace +Mill \w+\nStatus +active\nYour role +owner\n/],
  ['workspaces list', /^Id +Name +Your role +Teams +Projects\n\S+ +Mill \w+ +owner +1 +0\n$/],
  ['workspaces update "Mill {way}" --folder src', /\nFolders +src\n/],
  ['workspaces show "Mill {way}"', /^Workspace +Mill \w+\n[\s\S]*\nTeams +Big \w+ \(owner\)\n/],
  [
    'workspaces invite "Mill {way}" guest@example.com --role viewer',
    /^Invited guest@example\.com\. They find .*\nThis server sends no mail\..*\n {2}http:\S+\/workspace-invites\/\S+\n$/,
  ],
  ['workspaces invites "Mill {way}"', /Mill \w+ +Big \w+ +guest@example\.com +viewer +pending/],
  ['@guest workspaces invites', /Mill \w+ +Big \w+ +guest@example\.com +viewer +pending/],
  ['@guest workspaces decline "Mill {way}"', /^Declined the invitation\.\n$/],
  ['workspaces invite "Mill {way}" other-{way}@example.com', /^Invited other-\w+@example\.com\./],
  ['workspaces cancel "Mill {way}" other-{way}@example.com', /^Cancelled the invitation\.\n$/],
  ['workspaces invite "Mill {way}" guest@example.com', /^Invited guest@example\.com\./],
  ['@guest workspaces accept "Mill {way}"', / joined the workspace as editor\.\n$/],
  ['workspaces add "Mill {way}" Loom-{way} --role viewer', /^Loom-\w+ has the role viewer in Mill \w+\.\n$/],
  ['workspaces remove "Mill {way}" Loom-{way}', /^Removed Loom-\w+ from Mill \w+\.\n$/],
  ['workspaces archive "Mill {way}"', /\nStatus +archived\n/],
  ['workspaces restore "Mill {way}"', /\nStatus +active\n/],

  ['projects create Tutti --key TUT', /^Name +Tutti\n/],
  ['projects list', /^Key +Slug +Name +Status +Visibility\nTUT +tutti +Tutti +active +team\n$/],
  ['projects show tut', /^Name +Tutti\nSlug +tutti\nKey +TUT$/m],
  [
    'projects progress TUT --days 2',
    /^Day +Tasks +Done +By people +By agents\n[\d-]{10} +0 +0 +0 +0\n[\d-]{10} +0 .*\n$/,
  ],
  ['projects update tutti -d - < all of it', /\n\nall of it\n$/],
  ['link TUT', /^This folder is now linked to Tutti/],
  ['link', /^This folder is linked to Tutti \(/],
  ['projects create "Old one" --key OLD --visibility private', /Visibility +private/],
  ['projects archive OLD', /Status +archived/],
  ['projects restore OLD', /Status +active/],
  ['projects delete OLD', /^Deleted OLD\.\n/],
  ['projects sample', /^Name +Sample project\nSlug +sample-project\n/],
  ['projects sample', /^Name +Sample project\nSlug +sample-project\n/],
  ['projects delete sample-project', /^Deleted sample-project\.\n/],
  ['projects share TUT --workspace "Mill {way}"', /Visibility +team/],
  ['workspaces projects "Mill {way}"', /^Key +Name +Visibility\nTUT +Tutti +team\n$/],
  ['projects unshare TUT', /Visibility +team/],
  ['workspaces delete "Mill {way}" --yes', /^Deleted Mill \w+\.\n$/],
  ['projects create Gone --key GONE', /^Name +Gone\n/],
  ['projects move GONE Loom-{way} --yes', /^Name +Gone\n/],

  [
    'tasks create "Lock it" -d - -l db -a me --due 2027-01-31 --estimate 3 --accept "one writer" < why',
    /^Task +TUT-1 Lock it$/m,
  ],
  ['tasks create "Review it" --priority high', /^Task +TUT-2 Review it$/m],
  ['tasks block TUT-2 tut-1', /Blocked by +TUT-1/],
  ['tasks list', /^Task .*\nTUT-2 +todo, blocked +high +Review it +-\nTUT-1 +todo +medium +Lock it +Grace Hopper\n$/],
  ['tasks ls --ready --assignee me --label db --status todo --search lock', /^Task.*\nTUT-1 .*\n$/],
  ['tasks list --not-label db', /^Task.*\nTUT-2 .*\n$/],
  ['tasks list --not-status todo --updated-after -7d', /^(No open tasks.*\s*)?$/],
  [
    'tasks list --group priority',
    /^high \(1\)\n {2}Task .*\n {2}TUT-2 .*\n\nmedium \(1\)\n {2}Task .*\n {2}TUT-1 .*\n$/,
  ],
  ['tasks show tut-1', /Due +2027-01-31\n.*\nBlocks +TUT-2\n[\s\S]*\n\nwhy\n\n1\. \[ \] one writer\n$/],
  [
    'tasks update TUT-1 --priority critical --add-label urgent --remove-label db',
    /Priority +critical\n.*\nLabels +urgent\n/,
  ],
  ['tasks update TUT-1 --priority low', /Priority +low\n/],
  ['undo --list', /^Id +Change +State +When\n[\da-f-]{36} +TUT-1: priority Low +done +just now\n/],
  ['undo', /^Undone: TUT-1: priority Low\n$/],
  ['tasks change --where label=urgent --estimate 5', /1 task changed\.\n$/],
  ['tasks next --look', /TUT-1 Lock it\nStatus +todo/],
  ['tasks next', /TUT-1 Lock it\nStatus +in_progress[\s\S]*Claimed by +Grace Hopper, \d+ min left/],
  ['tasks release TUT-1', /Status +todo/],
  ['tasks claim TUT-1 --minutes 5', /Claimed by/],
  ['now --hours 8', /^Who +Task +Why +Last call +Last change +State\nGrace Hopper +TUT-1 Lock it +.*min left\n$/],
  ['tasks check TUT-1 1', /1\. \[x\] one writer/],
  ['tasks comment TUT-1 - < done soon', /^Comment added\.\n$/],
  ['tasks uncomment TUT-1 {comments}', /^Comment deleted\.\n$/],
  ['tasks done TUT-1 -m "as told"', /^TUT-1 is done\.\nUnblocked: TUT-2 Review it\nNext: TUT-2 Review it\n$/],
  ['tasks reopen TUT-1', /Status +todo/],
  ['tasks split TUT-1 "Write it" "Test it"', /^TUT-3 Write it\nTUT-4 Test it\n$/],
  ['tasks done TUT-3 TUT-4 --next', /^TUT-3 is done\.\nTUT-4 is done\.\n\nTask +TUT-\d /],
  ['tasks release TUT-1 -m "not now"', /Status +todo/],
  ['tasks unblock TUT-2', /^Task +TUT-2 Review it\nStatus +todo\nPriority +high\nUpdated/],
  ['tasks block TUT-2 "waits for Ada"', /Status +blocked/],
  ['tasks show TUT-2', /Grace Hopper, just now: waits for Ada\n$/],
  ['tasks cancel TUT-2', /Status +cancelled/],
  ['tasks list', /^Task .*\nTUT-1 .*\n$/],
  ['tasks list --all', /^TUT-2 +cancelled /m],
  ['tasks delete TUT-2', /^Deleted TUT-2\.\n/],
  ['tasks restore TUT-2', /^Task +TUT-2 Review it\n/],

  ['epics create "Durable storage" --priority high -d - < why', /^Epic +Durable storage\nStatus +todo\n[\s\S]*why\n$/],
  ['epics list', /^Id +Status +Priority +Title +Done\n[\da-f]{8}-[\da-f]{4} +todo +high +Durable storage +0\/0\n$/],
  ['epics show "durable storage"', /^Epic +Durable storage\n/],
  ['epics update "Durable storage" --status in_progress -d none', /Status +in_progress\n[\s\S]*Id +\S+\n$/],
  ['stories create "Two processes" --epic "Durable storage" --points 3', /^Story +Two processes\nPoints +3\n/],
  ['stories list', /Title +Done +Points\n[\da-f]{8}-[\da-f]{4} +todo +medium +Two processes +0\/0 +3\n$/],
  ['stories show "Two processes"', /Epic +[\da-f-]{36}\n$/],
  ['epics create Other', /^Epic +Other\n/],
  ['stories update "Two processes" --points none --epic Other', /^Story +Two processes\nStatus/],
  ['stories list --epic "Durable storage" --all', /^(No stories\.\n)?$/],
  ['stories delete "Two processes"', /^Deleted Two processes\.\n/],
  ['stories restore {deleted} --epic Other', /^Story +Two processes\n/],
  ['epics delete other', /^Deleted other\.\n/],
  ['epics restore {deleted}', /^Epic +Other\n/],

  ['features create "Folder lock" -d x --kind chore --task TUT-1', /Kind +chore/],
  ['features list', /^Id +Status +Title +Gates +Kind\n[\da-f]{8}-[\da-f]{4} +todo +Folder lock +\d\/\d +chore\n$/],
  ['features workflow', /^From +To +By +Gate +Needs\ntodo +in_progress +advance/],
  ['features update {features} --priority high', /Priority +high/],
  ['features advance {features}', /Status +in_progress[\s\S]*still missing: what changed/],
  ['features show {features}', /^Feature +Folder lock/],
  ['features create "Big one"', /^Feature +Big one/],
  ['@guest features review {reviewable} approved -m "Well done"', /^Feature +Big one\n/],
  ['features delete {features}', /^Deleted /],
  ['features restore {deleted}', /^Feature /],

  [
    'notes create Runbook --scope team -c - --tag ops < first do this',
    /Tags +ops\nVisibility +team\n[\s\S]*\n\nfirst do this\n$/,
  ],
  ['notes list --tag ops --search first', /Runbook +ops +team +just now\n$/],
  ['notes update {notes} --title "Runbook 2"', /^Note +Runbook 2\n/],
  ['notes show {notes}', /^Note +Runbook 2\n/],
  ['notes delete {notes}', /^Deleted /],
  ['notes restore {deleted}', /^Note +Runbook 2\n/],

  ['memory add "Two writers damaged the folder" -t Lock --tag db', /^Stored as [\da-f-]{36}\.\n$/],
  ['memory list', /project +Lock +just now\n$/],
  ['memory search writers folder', /^Lock +memory [\da-f-]{13}, \d\.\d\d, just now\n +Two writers/],
  ['memory update {memories} --importance 0.9', /Importance +0\.9/],
  ['memory show {memories}', /Two writers damaged the folder\n$/],
  ['memory delete {memories}', /^Deleted memory /],

  [
    'decisions create "Which lock" --status proposed --decision flock --alternative "a file"',
    /Status +proposed[\s\S]*\n\nRejected alternative: a file\n$/,
  ],
  ['decisions accept {decisions}', /Status +accepted/],
  ['decisions reject {decisions}', /Status +rejected/],
  [
    'decisions create "One process" --decision "It is locked" --rationale NFS --tag db',
    /\n\nIt is locked\n\nRationale: NFS\n$/,
  ],
  ['decisions list --status accepted --tag db', /accepted +One process +just now\n$/],
  ['decisions comment {decisions} - < hm', /^Comment added\.\n$/],
  ['decisions outcome {decisions} "no damage since"', /^Outcome recorded\.\n$/],
  ['decisions update {decisions} --rationale "NFS has no locks"', /Rationale: NFS has no locks/],
  ['decisions show {decisions}', /Outcome: no damage since\n\nGrace Hopper, just now: hm\n$/],
  [
    'decisions supersede {decisions} "Two of them" --decision "Two folders"',
    /^Decision +Two of them\nStatus +accepted\n.*\nReplaces +[\da-f-]{36}\n/,
  ],

  ['specs create "Folder lock" -c - < # one', /Version +1\n[\s\S]*Slug +folder-lock/],
  ['specs list', /^Slug.*\nfolder-lock +draft +Folder lock +1 +just now\n$/],
  ['specs update folder-lock --base-version 1 -c - -m NFS < # two', /Version +2\n[\s\S]*# two\n$/],
  ['specs approve folder-lock', /Status +approved\nVersion +3\n/],
  ['specs versions folder-lock', /\n2 +draft +Grace Hopper +just now +NFS\n1 /],
  ['specs compare folder-lock 1', /^-# one$[\s\S]*^\+# two$/m],
  ['specs show {specs} --at 1', /^Spec +Folder lock\n[\s\S]*# one\n$/],

  ['sessions start -g "finish it" --task TUT-1', /Goals: «finish it»/],
  ['sessions list', /active +finish it +just now\n$/],
  ['sessions checkpoint --next-step - --branch lock < write tests', /^Checkpoint saved\.\n$/],
  ['sessions resume', /Next step: «write tests»/],
  ['sessions context --budget 500', /Next step: «write tests»/],
  ['sessions show', /Goals +finish it\n[\s\S]*Next step +write tests\nBranch +lock\n/],
  ['sessions replay', /^When +Who +What +Line\n[\s\S]*Grace Hopper +\S/],
  ['sessions end -m done', /^Session ended\. 1 memory stored\.\n$/],

  ['agents create Coder --role "writes code" --model m', /^Agent +Coder\n/],
  ['agents list', /Coder +writes code +m +active\n$/],
  ['agents update {agents} --role "writes tests" --model none', /Role +writes tests\nStatus/],
  ['agents show {agents}', /^Agent +Coder\n/],
  ['agents delete {agents}', /^Deleted /],
  ['agents restore {deleted}', /^Agent +Coder\n/],

  ['skills create Review -d "how to" -c - < read it', /\n\nread it\n$/],
  ['skills list', /Review +how to +team\n$/],
  ['skills update {skills} --tag q', /Tags +q/],
  ['skills show {skills}', /About +how to/],
  ['skills delete {skills}', /^Deleted /],
  ['skills restore {deleted}', /^Skill +Review\n/],

  ['skills delete {skills}', /^Deleted /],
  ['trash list --kind skill', /^Id +Kind +Title +Deleted +By\n[\da-f-]{36} +skill +Review +just now +Grace Hopper\n$/],
  ['trash restore {trash}', /^Restored skill Review\.\n$/],

  ['activity log deploy "Deployed 1.4" --metadata \'{"a":1}\'', /^Activity logged\.\n$/],
  ['activity list --type deploy --since 2020-01-01', /^When.*\njust now +Grace Hopper +Deployed 1\.4\n$/],
  ['activity show {activities}', /Type +deploy\n/],

  ['@guest tasks comment TUT-1 "@grace-{way} look"', /^Comment added\.\n$/],
  ['notifications list', /^Id +Received +Reason +Title\n/],
  ['notifications count', /^[1-9]\d* need your action, [1-9]\d* unread, [1-9]\d* in total\n$/],
  ['notifications show {notifications}', /^Notification +\S[\s\S]*Read +no\n/],
  ['notifications read {notifications}', /^Marked 1 as read\.\n$/],
  ['notifications unread {notifications}', /^Changed 1 notification\.\n$/],
  ['notifications snooze {notifications} --until +3h', /^Changed 1 notification\.\n$/],
  ['notifications snooze {notifications} --until none', /^Changed 1 notification\.\n$/],
  ['notifications rules', /^ *Reason .*\n(.*\n)*mention +on +off +on\n/],
  ['notifications set mention --mail daily --inbox off --push on', /\nmention +off +daily +on\n/],
  ['notifications set mention --reset', /\nmention +on +off +on\n/],
  ['notifications daily --at 17:30 --day mon --day thu', /\nDaily mail +17:30 .*, on mon, thu\n/],
  ['notifications pause --until none', /\nDaily mail +17:30/],
  ['notifications done {notifications}', /^Changed 1 notification\.\n$/],
  ['notifications read', /^Marked \d+ as read\.\n$/],

  ['issues create "No hits" -d "Search is empty." --priority high', /^Issue +No hits\nStatus +open\nPriority +high\n/],
  ['issues list --status open', /^Id +Status +Priority +Title +Answered\n[\da-f-]{13} +open +high +No hits +-\n$/],
  ['issues show "No hits"', /^Issue +No hits\n[\s\S]*\n\nSearch is empty\.\n$/],

  [`integrations create github --secret - < ${EXAMPLE_TOKEN}`, /^Provider +github\nEnabled +yes\nSecret +…\w{4}\n/],
  ['integrations list', /^Provider +Enabled +Secret +Problem\ngithub +yes +…\w{4} +-\n$/],
  ['integrations update github --login ada', /Login +ada\n/],
  ['integrations show github', /Login +ada\n/],
  ['repositories available', /tutti\/tutti +no +main\n/],
  ['repositories create tutti/{way}', /^Repository +tutti\/\w+\nHost +github\n/],
  ['repositories list', /^Repository .*\ntutti\/\w+ +github /],
  ['repositories sync tutti/{way}', /Status +ready\n/],
  ['repositories show tutti/{way}', /Branch +main\n/],
  ['repositories pull tutti/{way} "Lock it" --head lock', /pull request.*: http/],
  ['repositories agents-md', /^<!-- tutti:begin -->\n\n# «Tutti»\n/],
  ['repositories delete tutti/{way}', /^Removed tutti\/\w+\.\n$/],
  ['integrations delete github', /^Disconnected github\.\n$/],
  [
    'webhooks create https://hooks.example.com/tutti --event mention',
    /Notifications +mention\n[\s\S]*Signing key +whsec_/,
  ],
  ['webhooks update --disable --event security', /Enabled +no\n/],
  ['webhooks list', /^Address .*\n…utti +no +security +never +-\n$/],
  ['webhooks show', /^Provider +webhook\n/],
  ['webhooks test', /^Test message not delivered: /],
  ['integrations test webhook', /^Test message not delivered: /],
  ['webhooks delete', /^Disconnected webhook\.\n$/],

  ['tokens create laptop --scope read --expires-in 30', /^svc_live_\w+\n/],
  ['tokens list', /laptop +laptop +- +read +never +30 days left\n$/],
  ['tokens show laptop', /^Token +laptop\nAgent +laptop\nKind +live\n[\s\S]*\nFirst used +never\n/],
  ['tokens revoke laptop', /^Token revoked\.\n$/],
  ['tokens list --all', /laptop +laptop +- +read +never +revoked\n$/],

  ['search lock --kind spec', /^spec \(1\)\n +folder-lock +Folder lock\n/m],
  ['search label:urgent project:tut', /^task \(1\)\n +TUT-1 +Lock it\n/m],
  [
    'ask "Which folder lock?"',
    /^No chat model is set up on this server\. These records match your question\.\n\n\[1\] \w+ \S.* +http\S+\n/,
  ],
  ['link --remove', /^This folder is no longer linked to a project/],
  ['teams remove {teams} guest@example.com', /^Removed guest@example\.com from the team\.\n$/],
  ['teams delete {teams} --yes', /^Deleted /],

  [
    'admin create --email boss-{way}@example.com --name Boss --password-stdin --data-dir {dir} < seven quiet lamps at dusk',
    /is an administrator\.\n$/,
  ],
  [
    'admin reset-password --email boss-{way}@example.com --password-stdin --data-dir {dir} < violet anchor prefers rain',
    /has a new password/,
  ],
  ['admin audit --person boss-{way} --type user. --data-dir {dir}', /^\d{4}-\d\d-\d\d \d\d:\d\d {2}\S.*Boss\n/],
  ['outbox --data-dir {dir}', /^To +\S+@example\.com\nSubject +\S[\s\S]*\n {4}\S/],
  ['config --data-dir {dir}', /DATA_DIR/],
  ['settings set general.tagline "We {way}" --data-dir {dir}', /^general\.tagline = We \w+\n$/],
  ['settings unset general.tagline --data-dir {dir}', /^general\.tagline = \(not set\)\n$/],
  ['settings list --data-dir {dir}', /^general\.siteName = \S[\s\S]*^blog\.enabled = false$/m],
  [
    'pages create "Imprint {way}" --publish --file - --data-dir {dir} <   we *wrote* it',
    /^\/p\/imprint-\w+ Imprint \w+ \(live\)\n$/,
  ],
  ['pages list --search "Imprint {way}" --data-dir {dir}', /^\/p\/imprint-\w+ Imprint \w+ \(live\)\n$/],
  ['pages show imprint-{way} --data-dir {dir}', /^\/p\/imprint-.*\n\n {2}we \*wrote\* it\n$/],
  [
    'pages update imprint-{way} --at 2099-01-01T09:00Z --data-dir {dir}',
    /\(scheduled for 2099-01-01T09:00:00\.000Z\)\n$/,
  ],
  ['pages delete imprint-{way} --data-dir {dir}', /^Deleted imprint-\w+\.\n$/],
  ['pages list --deleted --search "Imprint {way}" --data-dir {dir}', /^\/p\/imprint-\w+ /],
  [
    'pages restore imprint-{way} --data-dir {dir}',
    /^\/p\/imprint-\w+ Imprint \w+ \(scheduled for 2099-01-01T09:00:00\.000Z\)\n$/,
  ],
  [
    'posts create "News {way}" --publish --file - --data-dir {dir} <   we *wrote* it',
    /^\/blog\/news-\w+ News \w+ \(live\)\n$/,
  ],
  ['posts list --search "News {way}" --data-dir {dir}', /^\/blog\/news-\w+ News \w+ \(live\)\n$/],
  ['posts show news-{way} --data-dir {dir}', /^\/blog\/news-.*\n\n {2}we \*wrote\* it\n$/],
  ['posts update news-{way} --at 2099-01-01T09:00Z --data-dir {dir}', /\(scheduled for 2099-01-01T09:00:00\.000Z\)\n$/],
  ['posts delete news-{way} --data-dir {dir}', /^Deleted news-\w+\.\n$/],
  ['posts restore news-{way} --data-dir {dir}', /^\/blog\/news-\w+ News \w+ \(scheduled for /],
  ['config policy', /tasks\.complete/],
  ['config routes', /^PATCH +\/api\/tasks\/:id +\S/m],
  ['config events', /^Event +Description +Feed +Changes +Line +Live\b[\s\S]*^task\.completed .* work +- +task +yes\b/m],
  ['sbom', /"bomFormat": "CycloneDX"/],
  ['mcp cost', /^Toolset +Tools +Tokens/],
  ['completion bash', /complete .*tutti/],
  ['logout', /^Signed out of http:/],
]

/** What needs a stage of its own: where it is tried, both ways. */
const elsewhere: Record<string, string> = {
  serve: 'operating.test.ts',
  login: 'login.test.ts',
  sync: 'sync.test.ts',
  'sync on': 'sync.test.ts',
  'sync status': 'sync.test.ts',
  'sync conflicts': 'sync.test.ts',
  'sync resolve': 'sync.test.ts',
  'sync rejected': 'sync.test.ts',
  'sync export': 'sync.test.ts',
  'sync carry': 'sync.test.ts',
  'sync import': 'sync.test.ts',
  'sync off': 'sync.test.ts',
  'tunnel up': 'tunnel.test.ts',
  'tunnel add': 'tunnel.test.ts',
  'tunnel list': 'tunnel.test.ts',
  'tunnel status': 'tunnel.test.ts',
  'tunnel update': 'tunnel.test.ts',
  'tunnel rm': 'tunnel.test.ts',
  'tunnel run': 'tunnel.test.ts',
  'tunnel tools': 'tunnel.test.ts',
  'tunnel call': 'tunnel.test.ts',
  'tunnel open': 'tunnel.test.ts',
  'tunnel logs': 'tunnel.test.ts',
  'tunnel replay': 'tunnel.test.ts',
  'tunnel confirm': 'tunnel.test.ts',
  'tunnel down': 'tunnel.test.ts',
  watch: 'watch.test.ts',
  wait: 'watch.test.ts',
  export: 'sync.test.ts',
  import: 'sync.test.ts',
  mcp: 'mcp.test.ts',
  connect: 'agents.test.ts',
  'oauth list': 'mcp-tokens.test.ts',
  'oauth end': 'mcp-tokens.test.ts',
  'oauth clients list': 'mcp-tokens.test.ts',
  'oauth clients add': 'mcp-tokens.test.ts',
  'oauth clients remove': 'mcp-tokens.test.ts',
  migrate: 'operating.test.ts',
  'migrate up': 'operating.test.ts',
  'migrate status': 'operating.test.ts',
  backup: 'backup.test.ts',
  restore: 'backup.test.ts',
  'db move': 'backup.test.ts',
  doctor: 'doctor.test.ts',
  'service install': 'service.test.ts',
  'service uninstall': 'service.test.ts',
  'service status': 'service.test.ts',
  upgrade: 'upgrade.test.ts',
  seed: 'operating.test.ts',
}
/** Takes no --json: it is JSON already, or is read by a shell. */
const withoutJson = new Set(['config policy', 'sbom', 'completion'])

const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double ?? single ?? bare ?? '')
/** Returns `tasks list` from a command line. */
const commands = await allCommands()
const commandOf = (line: string): string => {
  const words = wordsOf(line.replace(/^@guest /, ''))
  const two = words.slice(0, 2).join(' ')
  const named =
    commands.find((c) => c.names.includes(two)) ?? commands.find((c) => c.names.includes(words[0] as string))
  return named?.path ?? `nothing that there is: ${line}`
}

test('every command is covered', () => {
  const tried = new Set(everyday.map(([line]) => commandOf(line)))
  const all = commands.map((c) => c.path)
  expect(all.filter((path) => !tried.has(path) && !Object.hasOwn(elsewhere, path))).toEqual([])
  expect([...tried, ...Object.keys(elsewhere)].filter((path) => !all.includes(path))).toEqual([])
})

test.each(Object.entries(elsewhere))('%s is covered by %s, on a terminal too', (path, file) => {
  const where = join(import.meta.dir, file)
  expect(existsSync(where)).toBe(true)
  const text = readFileSync(where, 'utf8')
  const words = path.split(' ').map((word) => `['"\` (\\[]${word}\\b`)
  expect(text).toMatch(new RegExp(words.join('[^\\n]*')))
  expect(text).toMatch(/onTerminal\(|'script'|on a terminal/)
})

let office: Office
const actors = {} as Record<Way, { me: Actor; guest: Actor; cwd: string; deleted: string }>
interface Actor {
  home: Home
  token: string
}

beforeAll(async () => {
  const host = exampleHost()
  for (const way of ways) host.add(`tutti/${way}`)
  office = await Office.open({ RATE_LIMIT_REGISTER: '100', EMBEDDINGS: 'off', ...host.settings })
  const guest = await account('guest')
  await Promise.all(
    ways.map(async (way) => {
      const me = await account(`grace-${way}`)
      actors[way] = { me: await signedIn(me), guest: await signedIn(guest), cwd: folder(), deleted: '' }
    }),
  )
}, 300_000)
afterAll(() => office.server.kill())

/** Somebody with a confirmed address, whom others can invite. */
async function account(name: string): Promise<string> {
  const email = `${name}@example.com`
  await office.api('POST', '/api/auth/otp/send', { email })
  const { out } = await tutti(['outbox', '--data-dir', office.server.dir, '--json'])
  const mail = (JSON.parse(out) as { items: { to: string; text: string }[] }).items.find(({ to }) => to === email)
  const { token } = (
    await office.api<{ token: string }>('POST', '/api/auth/otp/verify', {
      email,
      code: codeIn(mail as { text: string }),
    })
  ).body
  await office.api('PATCH', '/api/settings/profile', { name: name === 'guest' ? 'Guest' : 'Grace Hopper' }, token)
  return token
}

async function signedIn(token: string): Promise<Actor> {
  const home = new Home(office)
  const { userCode, done } = await home.login()
  await office.api('POST', '/api/auth/device/approve', { userCode }, token)
  expect((await done).code).toBe(0)
  return { home, token }
}

/** Returns the value of a placeholder in braces. */
async function filled(line: string, way: Way): Promise<string> {
  const { me, guest, deleted } = actors[way]
  const who = line.startsWith('@guest') ? guest : me
  const known: Record<string, string> = { way, dir: office.server.dir, host: office.host, deleted }
  let text = line
  for (const [whole, name] of line.matchAll(/(?<!')\{(\w+)\}/g))
    text = text.replaceAll(whole, known[name as string] ?? (await lastOf(name as string, who, way)))
  return text
}

async function lastOf(name: string, { token }: Actor, way: Way): Promise<string> {
  type One = { id: string; slug: string; name: string; organization: { name: string } }
  const list = async (path: string, team?: string) => {
    const headers = { authorization: `Bearer ${token}`, ...(team && { 'x-organization-id': team }) }
    return ((await (await fetch(office.url + path, { headers })).json()) as { items: One[] }).items
  }
  const team = (await list('/api/teams')).find((t) => t.name.endsWith(` ${way}`))
  if (name === 'teams') return team?.slug as string
  if (name === 'invites')
    return (await list('/api/invites')).find((i) => i.organization.name.endsWith(` ${way}`))?.id as string
  if (name === 'reviewable') return reviewable(way, team?.id as string)
  if (name === 'comments') return (await list('/api/tasks/TUT-1/comments', team?.id)).at(-1)?.id as string
  const path = name === 'features' ? `/api/teams/${team?.id}/features` : `/api/${name}`
  return (await list(`${path}?limit=1`, team?.id))[0]?.id.slice(0, 13) ?? `no-${name}`
}

/** The last feature, brought by its author to where it waits for a review. */
async function reviewable(way: Way, team: string): Promise<string> {
  const { token } = actors[way].me
  const { items } = (
    await office.api<{ items: { id: string }[] }>('GET', `/api/teams/${team}/features?limit=1`, undefined, token)
  ).body
  const path = `/api/features/${items[0]?.id}`
  for (let step = 0; step < 8; step++) {
    const tests = { command: 'bun test', passed: 3, failed: 0 }
    const evidence = { summary: `Step ${step}`, files: [`src/${step}.ts`], commits: [`1a2b3c${step}`], tests }
    const { body } = await office.api<{ status: string; next: { missing: object[] } | null }>(
      'GET',
      path,
      undefined,
      token,
    )
    if (body.status === 'in_review') break
    await office.api('POST', `${path}/advance`, body.next?.missing.length ? { evidence } : {}, token)
  }
  return items[0]?.id as string
}

interface Seen {
  code: number
  out: string
  err: string
}

async function typed(line: string, way: Way): Promise<Seen> {
  const { me, guest, cwd } = actors[way]
  const { home } = line.startsWith('@guest') ? guest : me
  const [command, stdin] = line.replace('@guest ', '').split(' < ') as [string, string?]
  const words = wordsOf(command)
  if (way === 'piped') return home.within(cwd, words, stdin)
  if (way === 'json') return home.within(cwd, withoutJson.has(commandOf(line)) ? words : [...words, '--json'], stdin)
  // What a terminal reads it also shows; so it comes from a file here.
  const { code, shown } = await onTerminal(words, { env: home.env, cwd, columns: 80, stdin })
  return { code, out: shown, err: '' }
}

/** The output of a command; a search is repeated until it says no more that its index is catching up. */
async function settled(line: string, way: Way): Promise<Seen> {
  for (;;) {
    const seen = await typed(line, way)
    if (!/search index is catching up|"indexing": \{/.test(seen.out + seen.err)) return seen
  }
}

const shapes: Record<string, unknown> = {}

for (const way of ways)
  test.concurrent(`every command, ${way}`, async () => {
    const wrong: string[] = []
    for (const [line, expected] of everyday) {
      const asked = await filled(line, way)
      const { code, out, err } = await settled(asked, way)
      const problem = problemOf(way, line, expected, { code, out, err })
      if (problem) wrong.push(`${asked}\n  ${problem}: ${code} ${err}${out}`)
      const [, id] =
        /restore ([\da-f-]{36})/.exec(out + err) ?? /"id": "([\da-f-]{36})",\n *"deleted": true/.exec(out) ?? []
      if (id) actors[way].deleted = id
    }
    expect(wrong.join('\n')).toBe('')
  }, 900_000)

function problemOf(way: Way, line: string, expected: RegExp, { code, out, err }: Seen): string | undefined {
  if (code !== 0) return 'ended badly'
  if (way !== 'terminal' && (out + err).includes('\x1b')) return 'colours in a pipe'
  if (way !== 'json') {
    // On a busy machine what was made two commands ago is no longer of just now.
    const bare = Bun.stripANSI(out).replace(/\b\d min ago/g, 'just now')
    if (!expected.test(bare)) return `is not like ${expected}`
    // Tables and facts fit; a text is as its author wrote it.
    const [facts = ''] = out.startsWith('\x1b[2m') ? bare.split('\n\n') : []
    return way === 'terminal' && facts.split('\n').some((text) => Bun.stringWidth(text) > 80)
      ? 'is wider than the terminal'
      : undefined
  }
  if (err !== '') return 'said more than JSON'
  if (withoutJson.has(commandOf(line))) return undefined
  shapes[commandOf(line)] ??= shapeOf(JSON.parse(out))
  return undefined
}

/** Names and types, three levels deep; for a list, the fields that its items have in common. */
function shapeOf(value: unknown, depth = 3): unknown {
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.length === 0 || depth === 0 ? [] : [shapeOf(value[0], depth - 1)]
  if (typeof value !== 'object') return typeof value
  if (depth === 0) return 'object'
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => a.localeCompare(b))
      // Calls are counted in memory first, and stored after up to twenty seconds: there may be none yet.
      .map(([name, inner]) => [name, name === 'calls' ? [] : shapeOf(inner, depth - 1)]),
  )
}

test('the JSON of each command keeps its shape', () => {
  expect(shapes).toMatchSnapshot()
})
