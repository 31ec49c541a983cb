/**
 * Lists the paths that hold secrets and the paths whose content other programs run or trust. A name may contain `*`. A
 * name with a slash matches that many components.
 */

/** Directories whose files are credentials. */
export const secretDirectories =
  '.ssh .aws .gnupg .kube .azure .password-store .config/gh .config/gcloud .config/op .config/hub .config/rclone .docker/run .oci .fly run/secrets .mozilla .thunderbird .config/google-chrome'.split(
    ' ',
  )

export const secretNames =
  '.env .env.* .envrc *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.asc id_rsa id_dsa id_ecdsa id_ed25519 .netrc _netrc .pgpass .my.cnf .npmrc .pypirc .git-credentials .vault-token .dockercfg .docker/config.json .htpasswd .s3cfg .boto .terraformrc .pulumi/credentials.json credentials credentials.json credentials.yml.enc secrets.json secrets.yml secrets.yaml service-account*.json *_history kubeconfig .cargo/credentials .cargo/credentials.toml .gem/credentials auth.json .composer/auth.json *.tfstate terraform.tfvars *.ovpn shadow gshadow sudoers shadow- proc/*/environ proc/*/mem proc/*/root proc/kcore'.split(
    ' ',
  )

/** Secrets that names on a command line are compared with where the host has not listed its own. */
export const sampleSecrets =
  '.env .ssh/id_rsa .ssh/config .aws/credentials .netrc .npmrc secrets.yaml server.pem'.split(' ')

/** Templates without values. */
export const publicNames = /(^|[./_-])(example|sample|template|dist|defaults?|schema|pub)$/i

/** Directories whose files are run or trusted by other programs. */
export const trustedDirectories =
  '.git .ssh .husky .github .gitlab .circleci .buildkite .forgejo .gitea .woodpecker .aws .gnupg .kube .docker .config .vscode .idea .devcontainer .cargo/bin .local/bin .local/share/systemd .claude .cursor .codex .azure .mise .direnv autostart LaunchAgents cron.d'.split(
    ' ',
  )

/** Files that are run or trusted by other programs. */
export const trustedNames =
  '.gitconfig .gitmodules .gitattributes .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bashenv .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .profile .inputrc .envrc .env .env.* .netrc .npmrc .yarnrc .yarnrc.yml .yarn/releases/* .pnpmfile.cjs .pypirc pip.conf .pip/pip.conf .pgpass .my.cnf .psqlrc .sqliterc .vimrc .exrc .nvimrc .lvimrc .emacs .screenrc .tmux.conf .curlrc .wgetrc .lesskey .mailcap .gdbinit .ripgreprc .pdbrc .pythonrc .pryrc .irbrc .Rprofile .Renviron .perltidyrc authorized_keys crontab sitecustomize.py usercustomize.py *.pth .pre-commit-config.yaml lefthook.yml .lefthook.yml .gitlab-ci.yml .travis.yml .drone.yml .woodpecker.yml azure-pipelines.yml bitbucket-pipelines.yml appveyor.yml .appveyor.yml cloudbuild.yaml Jenkinsfile .cirrus.yml .cargo/config .cargo/config.toml .mise.toml'.split(
    ' ',
  )

/** Files that shells, schedulers and git run later: start files, history, hooks. */
export const runLater =
  /(^|\/)(\.(bash|zsh|zlog|z?profile|login|logout|k?shrc|mkshrc|t?cshrc|inputrc|xinitrc|xprofile|xsessionrc|envrc)\w*|crontab|bash\.bashrc|profile|rc\.local|\.?\w*_history)$|\/(\.git\/hooks|\.husky|autostart|LaunchAgents|systemd|cron(tabs|\.\w+)?|profile\.d|init\.d)\//

/** Devices that may be read and written. */
export const harmlessDevices = new Set(
  'null stdout stderr stdin tty zero full random urandom'.split(' ').map((name) => `/dev/${name}`),
)

export const temporaryRoots = ['/tmp', '/var/tmp', '/private/tmp', '/dev/shm']

/** Directories of the root that do not belong to the system. */
export const ordinaryRootDirectories = new Set(
  'tmp workspace workspaces work app data repo project src code build'.split(' '),
)

export const systemDirectories =
  'bin boot dev etc home lib lib32 lib64 libx32 mnt media nix opt proc root run sbin srv sys usr var Users System Library Applications'.split(
    ' ',
  )

/** Directories below a system directory whose loss breaks the host. */
export const vitalSubdirectories: Readonly<Record<string, readonly string[]>> = {
  usr: ['bin', 'sbin', 'lib', 'lib64', 'local', 'share', 'include', 'libexec', 'src'],
  var: ['lib', 'log', 'www', 'spool', 'cache', 'mail', 'db', 'backups'],
  etc: ['ssh', 'ssl', 'pam.d', 'systemd', 'init.d', 'apt', 'default'],
  System: ['Library'],
}

/** Block devices, and the memory and ports of the host. */
export const diskPath =
  /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|dm-|md|loop|sr|disk|rdisk|mapper\/|disk\/|mem$|kmem$|port$|nbd|ram|zd|root$|block\/|ada\d|da\d)/
export const sampleDisks = ['sda', 'sda1', 'nvme0n1', 'vda', 'hda', 'xvda', 'mmcblk0', 'disk0', 'dm-0', 'mem']
