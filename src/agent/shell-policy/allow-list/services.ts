/** Lists commands of clients that only read, and the options and subcommands of git that are harmless. */

export type Client = { readonly reading: RegExp; readonly refused?: RegExp }

/** Matched against the first two words that are no options. */
export const clients: Readonly<Record<string, Client>> = {
  'redis-cli': {
    reading: /^(ping|info|get|keys|ttl|type|dbsize|llen|scard|hgetall|lrange|smembers|exists|scan)\b/i,
    refused: /^--(eval|pipe|rdb|functions)|^-h|^-u/,
  },
  gh: {
    reading:
      /^(pr (list|view|status|diff|checks)|issue (list|view|status)|repo (view|list)|run (list|view|watch)|release (list|view)|workflow (list|view)|auth status|status|search \w+|label list|version)/,
    refused: /^--web|^-w$|^--show|^-t$/,
  },
  glab: { reading: /^(mr (list|view|diff)|issue (list|view)|ci (list|status|view)|version)/ },
  kubectl: {
    reading:
      /^(get|describe|logs|version|cluster-info|top|explain|api-resources|config (view|get-contexts|current-context))/,
    refused: /^--(kubeconfig|server|raw|token|as)|(^|,)secrets?([,./]|$)|^-s$/,
  },
  helm: { reading: /^(list|status|get|version|show|template|lint|search)/, refused: /^--(post-renderer|kubeconfig)/ },
  terraform: {
    reading: /^(fmt|validate|version|plan|show|output|providers|graph|state (list|show))/,
    refused: /^-(chdir|out|destroy)/,
  },
  aws: { reading: /^(sts get-caller-identity|--version|s3 ls|ec2 describe-\w+)/, refused: /^--(endpoint-url|profile)/ },
  gcloud: { reading: /^(config list|auth list|version|projects list)/ },
  journalctl: {
    reading: /^/,
    refused: /^--(vacuum|rotate|flush|sync|relinquish|setup-keys|update-catalog|cursor-file)/,
  },
  tmux: {
    reading: /^(ls|list-sessions|list-windows|list-panes|capture-pane|display-message|has-session)/,
    refused: /^-f$/,
  },
  systemctl: {
    reading: /^(status|is-active|is-enabled|is-failed|list-units|list-unit-files|list-timers|show|cat|get-default)/,
  },
  docker: {
    reading:
      /^((ps|images|logs|inspect|version|info|stats|top|port|diff|history|search|events)\b|(image|container|volume|network|context|system) (ls|list|inspect|df|show|info|history|top|logs|stats|port)|compose (ps|logs|config|images|top|port|version|ls|events))/,
    refused: /^(-H|--host|--context|-c$|--config|--tls)/,
  },
}

/** Commands of containers that run code of the project. */
export const containerRunning =
  /^(run|exec|build|pull|compose (up|build|start|stop|restart|pull|run|exec|create|watch))\b/
export const containerOptions =
  /^(--rm|-i|-t|-it|-ti|-d|-itd|--detach|--interactive|--tty|--init|--read-only|--no-healthcheck|-T|--build|--no-cache|--quiet|-q|--wait|--no-deps|--force-recreate|--remove-orphans|--progress(=.*)?|--pull(=.*)?)$/
export const containerValued =
  /^(-p|--name|-e|--env|-w|--workdir|-h|--hostname|-u|--user|--platform|--memory|-m|--cpus|--label|-l|--tmpfs|--publish|--shm-size|-t|--tag|-f|--file|--build-arg|--target|--profile|--project-name|--scale|--network|-v|--volume|--mount)(=.*)?$/

/** Options of git before the command. */
export const gitGlobals = 'hvP | no-pager bare no-optional-locks literal-pathspecs version help no-replace-objects'

const listing =
  'abcdefghiklmnopqrstuvwxzABCDEGHIKLMNPQRSTUVWXYZ1234567890#n= S= G= L= U? | oneline graph all stat shortstat numstat name-only name-status patch no-patch raw summary decorate? no-decorate abbrev? abbrev-commit no-abbrev-commit pretty? format= date= since= until= after= before= author= committer= grep= invert-grep all-match regexp-ignore-case extended-regexp fixed-strings perl-regexp max-count= skip= reverse follow first-parent merges no-merges cached staged color? no-color word-diff? color-words? ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol minimal patience histogram diff-algorithm= diff-filter= find-renames? find-copies? no-renames unified= function-context exit-code quiet check full-index binary relative? left-right cherry cherry-pick cherry-mark topo-order date-order author-date-order branches? tags? remotes? glob= show-signature no-notes notes? no-textconv no-ext-diff no-prefix src-prefix= dst-prefix= submodule? ignore-submodules? pickaxe-all pickaxe-regex text irreversible-delete merge-base line-prefix= inter-hunk-context= compact-summary dirstat? mailmap no-mailmap simplify-by-decoration show-pulls full-history dense sparse ancestry-path boundary count walk-reflogs'
const porcelain = `${listing} short branch long porcelain? verbose show-stash untracked-files? ignored? column? no-column no-ahead-behind ahead-behind renames null list contains? no-contains? merged? no-merged? points-at? sort= show-current format= git-dir show-toplevel show-prefix show-cdup is-inside-work-tree is-bare-repository abbrev-ref? symbolic symbolic-full-name verify short? revs-only no-revs git-path= show-superproject-working-tree path-format= get= tags always dirty? exact-match match= long candidates= first-parent others exclude-standard modified deleted stage error-unmatch exclude= directory full-name eol recurse-submodules name-only full-tree line-number count files-with-matches files-without-match ignore-case word-regexp heading break show-function untracked and or not max-depth= numbered summary email incremental root show-email show-number show-name score-debug line-porcelain is-ancestor octopus independent fork-point batch batch-check verify-heads heads hash? dereference get-all= get-regexp= list show-origin show-scope global local system name-only type= bool int default= get-urlmatch= includes`

/**
 * Subcommands of git: `names : options : operands`. `path` operands are files of the clone. A command that is not here
 * needs approval.
 */
export const gitCommands = `
status log shortlog show describe blame annotate rev-parse rev-list name-rev whatchanged for-each-ref show-ref show-branch count-objects check-ignore check-attr check-ref-format diff-tree diff-index diff-files version help var range-diff cherry fsck verify-commit verify-tag ls-files ls-tree merge-base cat-file patch-id stripspace grep rerere : ${porcelain} : text
diff : ${listing} : read
add : AufNnv | all update dry-run verbose intent-to-add no-all ignore-errors renormalize chmod= : text
commit : amqvnsu m= F< C= | message= all amend no-edit quiet verbose signoff allow-empty allow-empty-message author= date= file< fixup= squash= reuse-message= only include no-gpg-sign dry-run short porcelain trailer= reset-author status no-status cleanup= : read
branch : avrlmuqi | all remotes list verbose move show-current set-upstream-to= unset-upstream track? no-track contains? no-contains? merged? no-merged? points-at= sort= format= color? no-color column? quiet ignore-case : text
tag : aln m= F< | annotate list message= file< sort= contains? no-contains? merged? points-at= format= column? : text
checkout : bqt | quiet track? no-track detach progress guess : checkout
switch : cqdt | create= quiet detach track? no-track guess progress : text
restore : SqP | staged quiet source= progress : restore
reset : qN | soft mixed quiet no-refresh intent-to-add : text
stash : uakqm m= | include-untracked all keep-index quiet message= index staged no-keep-index only-untracked stat name-only : stash
remote : v | verbose push : remote
merge : nqvem m= | no-ff ff ff-only no-commit commit squash abort continue quit quiet verbose stat no-stat message= no-edit log? no-log signoff autostash strategy-option= : text
rebase : qv | continue abort skip quit onto= autosquash no-autosquash autostash quiet verbose keep-base fork-point committer-date-is-author-date stat rebase-merges? : text
cherry-pick revert am : nxsq m= | no-commit continue abort skip quit signoff no-edit quiet mainline= strategy-option= allow-empty keep-redundant-commits 3way keep reset-author : text
rm : nq | cached quiet dry-run ignore-unmatch : text
mv : nkv | dry-run verbose : move
init : qb= | quiet initial-branch= : write
config : l | list get get= get-all= get-regexp= get-urlmatch= show-origin show-scope name-only local bool int type= default= includes null : config
fetch pull ls-remote : apqtvn # d= | all prune tags no-tags quiet verbose depth= unshallow dry-run rebase? no-rebase ff-only no-ff ff autostash progress recurse-submodules? no-recurse-submodules jobs= heads refs get-url symref exit-code sort= shallow-since= : network
clone : qvb= l j= | depth= branch= quiet verbose single-branch no-single-branch no-tags recurse-submodules? recursive progress shallow-since= jobs= filter= no-checkout sparse : clone
submodule : q | quiet init recursive remote : submodule
worktree : bqd b= | detach quiet : worktree
bisect : | no-checkout first-parent : bisect
reflog notes : n= | oneline all date= format= : show
lfs : | all size : lfs
symbolic-ref : q | short quiet : single
apply : vRNqp= C= 3 | check stat numstat summary index cached 3way reverse verbose whitespace= recount include= exclude= : read
archive : v l | format= prefix= list verbose : text
format-patch : n= s k N # | stdout cover-letter numbered start-number= subject-prefix= base= signoff quiet : text
clean : nd x | dry-run : clean
gc : q | auto quiet : none
`

/** Effects of git commands that are not in the list, for the person who approves. */
export const gitEffects: Readonly<Record<string, string>> = {
  push: 'publishes commits',
  'filter-branch': 'rewrites history',
  'filter-repo': 'rewrites history',
  'update-ref': 'moves or deletes references',
  prune: 'deletes unreachable objects',
  mergetool: 'starts another program',
  'send-email': 'sends commits by e-mail',
}

/** Settings of git that change no program and no host. */
export const gitSettings =
  /^(color\.[\w.]+|advice\.[\w.]+|user\.(name|email)|core\.(quotepath|autocrlf|ignorecase|filemode|longpaths|abbrev)|init\.defaultbranch|(commit|tag)\.gpgsign|log\.[\w.]+|status\.[\w.]+|pull\.(rebase|ff)|push\.default|merge\.(conflictstyle|ff)|diff\.(renames|algorithm|noprefix|mnemonicprefix|colormoved)|fetch\.prune|rebase\.(autostash|autosquash)|grep\.[\w.]+|column\.ui|rerere\.enabled|protocol\.version|http\.version)(=|$)/i
