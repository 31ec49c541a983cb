/**
 * Lists the programs that leave the machine: always, or with these first words. `list+-m` is the word list with the
 * option -m. Code of the project, interpreters and programs that no list contains may leave as well.
 */
const table = `
curl wget nc ncat ping ssh scp sftp
gh glab aws gcloud kubectl helm redis-cli psql mysql mariadb
npx bunx pnpx uvx pipx
git: fetch pull push clone ls-remote send-email svn p4 remote+update remote+show remote+prune submodule+update submodule+add lfs+fetch lfs+pull lfs+push archive+--remote
rsync: +*:*
docker podman nerdctl docker-compose: pull push search login build
npm pnpm yarn bun: view v info show search outdated audit fund ping doctor query
pip: download search index list+--outdated list+-o list+--uptodate list+-u
uv poetry pipenv: tree search show+--latest show+-l show+--outdated show+-o lock
gem bundle: search fetch outdated list+-r list+--remote info+-r info+--remote
brew dnf yum snap flatpak: search info list home cat deps desc query repolist outdated
cargo: search info tree metadata
go: list doc
deno: info doc
terraform: init plan apply validate providers
`

const leaving: ReadonlyMap<string, readonly string[]> = new Map(
  table
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [names = '', words = ''] = line.split(': ')
      return names.split(' ').map((name) => [name, words === '' ? [] : words.split(' ')] as const)
    }),
)

/** Whether a program leaves the machine with these words, the first of which is its command. */
export function leavesMachine(name: string, [first = '', ...rest]: readonly string[]): boolean {
  const entries = leaving.get(name)
  if (entries?.length === 0) return true
  return entries?.some((entry) => matchesEntry(entry, first, rest)) === true
}

function matchesEntry(entry: string, first: string, rest: readonly string[]): boolean {
  const [command = '', option] = entry.split('+')
  if (option === '*:*') return [first, ...rest].some((word) => word.includes(':'))
  return command === first && (option === undefined || rest.some((word) => word.split('=')[0] === option))
}
