/** Lists commands of clients that only read, and the options and subcommands of git that are harmless. */

/**
 * Commands of clients that only read: `name : commands : options`. A line without commands has the options before the
 * command.
 */
export const clientCommands = `
redis-cli : : n= p= | raw csv no-auth-warning
redis-cli : ping, info, get, keys, ttl, type, dbsize, llen, scard, hgetall, lrange, smembers, exists, scan :
gh : pr list, pr view, pr status, pr diff, pr checks, issue list, issue view, issue status, repo view, repo list, run list, run view, run watch, release list, release view, workflow list, workflow view, auth status, status, search *, label list, version : L= s= l= a= A= R= q= S= c B= H= j= e= b= u= | limit= state= label= assignee= author= json= jq= repo= search= comments base= head= job= log log-failed branch= user= workflow= event= exit-status owner= language= sort= order= milestone= name-only patch required interval= watch archived visibility= topic= created= updated= yaml
glab : mr list, mr view, mr diff, issue list, issue view, ci list, ci status, ci view, version : P= R= | page= per-page= repo= state= label= author= assignee= comments output=
kubectl : : n= | namespace= context= request-timeout=
kubectl : get, describe, top, explain, api-resources, api-versions, version, cluster-info, config view, config get-contexts, config current-context : Awn= l= L= | all-namespaces namespace= selector= watch show-labels sort-by= field-selector= no-headers context= recursive api-group= namespaced client minify chunk-size= ignore-not-found label-columns= show-kind request-timeout=
kubectl : get, top, version : o= | output=
kubectl : logs : fpn= c= l= | follow previous namespace= container= tail= since= since-time= timestamps all-containers prefix selector= max-log-requests= context=
helm : : n= | namespace= kube-context=
helm : list, status, get *, version, show *, template, lint, search * : Aadqn= f< s= l= | all-namespaces all deployed failed namespace= values< set= set-string= set-file< show-only= include-crds strict version= versions devel output= max= filter= short reverse date revision= kube-context= api-versions= kube-version=
terraform : fmt, validate, version, plan, show, output, providers, graph, state list, state show : ~ | no-color json recursive check diff list write= refresh= var= var-file< target= input= lock= lock-timeout= detailed-exitcode compact-warnings parallelism= raw id=
aws : sts get-caller-identity, --version, s3 ls, ec2 describe-* : | output= query= region= human-readable recursive summarize max-items= page-size= no-paginate no-cli-pager filters= instance-ids= image-ids= group-ids= owners= vpc-ids= subnet-ids=
gcloud : config list, auth list, version, projects list : | format= filter= limit= sort-by= page-size= all quiet
journalctl : * : efrxakqmb? n= u= S= U= p= o= g= t= | unit= user-unit= lines= follow reverse since= until= priority= output= output-fields= grep= case-sensitive? no-pager pager-end boot? list-boots disk-usage dmesg identifier= facility= quiet catalog no-tail utc no-hostname user system all full fields? field= cursor= after-cursor= show-cursor version help
tmux : ls, list-sessions, list-windows, list-panes, has-session, has, lsw, lsp, list-clients, lsc, capture-pane, capturep : aeJNqpsrP t= S= E= F= f=
tmux : display-message, display, display-panes : pavIlN t= c= d= F=
systemctl : : | user system no-pager
systemctl : status, is-active, is-enabled, is-failed, list-units, list-unit-files, list-timers, list-sockets, list-dependencies, show, cat, get-default : alqrn= o= p= t= | no-pager all type= state= failed quiet full lines= output= property= user system value plain legend= no-legend recursive reverse after before
docker : ps, images, logs, inspect, version, info, stats, top, port, diff, history, search, events, image ls, image inspect, image history, container ls, container inspect, container logs, container stats, container top, container port, volume ls, volume inspect, network ls, network inspect, context ls, context show, context inspect, system df, system info, compose ps, compose logs, compose config, compose images, compose top, compose port, compose version, compose ls, compose events : aqfslHtn= | all quiet filter= format= no-trunc size last= latest follow tail= since= until= timestamps details no-stream type= human no-color no-log-prefix services volumes images hash= status= index= protocol= digests tree limit= verbose orphans
`

/** Operands with which a client shows secrets. */
export const refusedOperands: Readonly<Record<string, RegExp>> = { kubectl: /(^|,)secrets?([,./]|$)/ }

/** Parts of formats that start programs or read files: `#(id)` of tmux, `-o jsonpath-file=x` of kubectl. */
export const codeInFormat = /#\(|#\{[^}]*[ET][:;]|`|\$\(|-file\b/

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
status log shortlog show describe rev-parse rev-list name-rev whatchanged for-each-ref show-ref show-branch count-objects check-ignore check-attr check-ref-format diff-tree diff-index diff-files version var range-diff cherry fsck verify-commit verify-tag ls-files ls-tree merge-base cat-file patch-id stripspace rerere : ${porcelain} : text
grep : aivwhHEGFPnlLzocpWrqI# e= f< A= B= C= m= | cached untracked text ignore-case word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null only-matching count color? no-color break heading show-function function-context and or not all-match max-depth= max-count= threads= context= after-context= before-context= quiet recursive no-recursive recurse-submodules no-textconv exclude-standard : text
blame annotate : bcltfnsewphMC# L= | root show-stats reverse= porcelain line-porcelain incremental encoding= date= progress no-progress abbrev? show-email show-name show-number score-debug color-lines color-by-age ignore-rev= since= first-parent minimal : text
help : acg | all guides config : text
diff : ${listing} : read
add : AufNnv | all update dry-run verbose intent-to-add no-all ignore-errors renormalize chmod= : text
commit : amqvnsu m= F< C= | message= all amend no-edit quiet verbose signoff allow-empty allow-empty-message author= date= file< fixup= squash= reuse-message= only include no-gpg-sign dry-run short porcelain trailer= reset-author status no-status cleanup= : read
branch : avrlmuqid | all delete remotes list verbose move show-current set-upstream-to= unset-upstream track? no-track contains? no-contains? merged? no-merged? points-at= sort= format= color? no-color column? quiet ignore-case : text
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
