/**
 * Lists the programs that run without approval, with the options and operands that are harmless. One line per group:
 * `names : options : operands`. Options are described in match-options.ts.
 *
 * Operands: `text` are no paths, `read` are read, `name` only looked at, `tree` read with everything below, `write`
 * written, `copy` read but for the last, which is written, `move` all written, `second` read and then written, `none`.
 * `!` marks programs with options that start programs or write files: no word may become an option by a wildcard.
 * `=number` and `=word` describe what the program prints.
 */
export const programList = `
cat gcat head ghead tail gtail paste join comm fold fmt nl expand unexpand cut tsort colrm column od hexdump hd strings zcat bzcat xzcat zstdcat tac rev cmp look pr base32 basenc : * : read
wc gwc : * : read =number
grep egrep fgrep zgrep : *e= f< A= B= C= m= d= D= | regexp= file< include= exclude= exclude-dir= exclude-from< max-count= context= after-context= before-context= color? colour? label= binary-files= devices= directories= : grep
diff : * : tree
md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum ls vdir dir gls stat du df basename dirname realpath readlink which whereis type : * : name
jq : * : read
yq : rejncCPMN o= p= I= | raw-output exit-status null-input output-format= input-format= prettyPrint no-colors colors unwrapScalar : yq
whoami id groups users w who tty logname uname nproc free uptime lscpu lsblk lsb_release vmstat iostat ps pgrep pidof pstree lsmod lspci lsusb sw_vers uuidgen locale getconf factor numfmt expr cal tput seq sleep usleep sync clear reset : * : text
lsof : antPR i= p= c= d= u= : none
ss netstat : antulprseoxwi46 | numeric tcp udp listening processes all : none
tokei cloc scc exa eza lsd : * : name
ag ack : n i l c w v A= B= C= G= H h o s t r R u | ignore-case files-with-matches count literal type= : tree !
rg ripgrep rgrep : acFHhiIlLnNopPqsSuUvVwx0b. A= B= C= e= g= m= M= t= T= E= r= j= d= f< | files-with-matches files-without-match ignore-case line-number no-line-number glob= iglob= type= type-not= type-list count count-matches only-matching max-count= hidden no-ignore context= after-context= before-context= fixed-strings word-regexp smart-case color= colors= heading no-heading json files sort= sortr= multiline multiline-dotall invert-match max-depth= regexp= replace= with-filename no-filename stats pcre2 trim no-messages max-columns= vimgrep column null version help case-sensitive follow quiet passthru unrestricted text encoding= pretty : grep !
file : bhiIkLNnprsvz F= | brief mime mime-type mime-encoding dereference version : name !
tree : adfpsughDFiCnrtcQNSA L= I= P= | dirsfirst du noreport gitignore prune filelimit= charset= : name !
bat batcat : pnA l= r= | plain paging= style= color= language= line-range= theme= decorations= : read !
less more : NSRFXinegGmMrsEc | quit-if-one-screen no-init : pager !
man : fkaw | version apropos whatis where path : pager !
help : * : text
shuf : erz i= n= | head-count= input-range= echo repeat : read !
sort gsort : bcCdfghiMmnrRsuVz k= t= o> S= | reverse numeric-sort human-numeric-sort unique key= field-separator= ignore-case version-sort stable check zero-terminated general-numeric-sort month-sort output> : read !
uniq : cdDiuz f= s= w= | count repeated unique ignore-case skip-fields= skip-chars= : second
tr : cCdst | complement delete squeeze-repeats truncate-set1 : text
base64 : dDi w= b= | decode ignore-garbage wrap= : read
xxd : bCeEiprRuaP c= l= g= o= s= : second
iconv : cls f= t= | list from-code= to-code= : read !
split : d l= b= n= a= C= | lines= bytes= number= numeric-suffixes? suffix-length= : split !
date : uR d= r= I? | utc date= rfc-3339= iso-8601? universal rfc-email : date
arch : : none
hostname : fiIsdA | fqdn short : none
bc : lqsi | mathlib quiet : read
cp gcp : afinprRuvLPHdTx t> S= | archive force interactive no-clobber recursive preserve? update verbose target-directory> no-target-directory parents reflink? : copy
mv : finuvT t> S= | force interactive no-clobber update verbose target-directory> no-target-directory : move
rm unlink : fiIdv | force interactive? verbose : remove
rmdir : pv | parents verbose ignore-fail-on-non-empty : remove
ln : sfnvrTi t> | symbolic force no-dereference verbose relative : link
touch : acmh d= r< t= | date= reference< no-create time= : write
mkdir : pv m= | parents verbose mode= : write
mkfifo : m= : write
mktemp : dqut p> | directory dry-run quiet suffix= tmpdir? : write
tee : aip | append ignore-interrupts : write
truncate : co s= r< | size= no-create : write
install : dDvpC t> | directory target-directory> : copy
dos2unix unix2dos : : write
chmod : vfc | verbose silent quiet changes : chmod
tar gtar bsdtar : tvzjJZacxrukpmOohS f= C> T< X< | list verbose file= gzip bzip2 xz zstd auto-compress exclude= wildcards create extract get append update strip-components= directory> no-same-owner exclude-vcs keep-old-files overwrite keep-newer-files : tar !
unzip : lvtpqonZjcz d> x= : unzip
zipinfo : * : read
zip : rqjv0123456789uyX x= i= : zip !
gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd : cdfklqtv123456789 | stdout decompress keep force list test best fast : compress
patch : NRElstbfu p= i< F= d> | strip= input< forward reverse dry-run batch silent quiet backup directory> fuzz= : patch !
rsync : avrltpgoDzhnPuqcHAXxSRWi | archive verbose recursive progress dry-run stats human-readable update checksum exclude= include= partial info= itemize-changes : rsync !
dd : : dd
kill : : kill
sed gsed : : sed !
awk gawk mawk nawk : + F= v= | field-separator= assign= version re-interval posix : awk !
find gfind : : find !
fd fdfind : HIuaLpFgils0q1 t= d= e= E= S= c= j= | hidden no-ignore type= extension= exclude= max-depth= min-depth= absolute-path glob full-path size= changed-within= changed-before= color= ignore-case fixed-strings list-details : fd !
curl : sSLfIkviGg#NjO0146Z o> H= X= m= A= w= d= | silent show-error location fail fail-with-body head insecure verbose include get compressed no-progress-meter progress-bar output> header= request= user-agent= write-out= max-time= connect-timeout= retry= retry-delay= retry-all-errors retry-connrefused data= data-raw= json= http1.1 http2 ipv4 ipv6 no-buffer create-dirs version help url= limit-rate= remote-name globoff : curl !
wget : qcNS O> P> T= t= | quiet no-verbose output-document> directory-prefix> timeout= tries= spider version help server-response no-check-certificate continue : wget !
nc ncat : z v w= | version : nc
ping : c= W= w= i= q n : ping
openssl : : openssl
printenv : : text
nm objdump readelf size : aACDghlnrsStuvwxdTV | demangle version help headers syms disassemble : read !
xmllint : : xmllint
shellcheck hadolint yamllint actionlint markdownlint : f= s= S= e= W= | format= shell= severity= exclude= color? version help : read !
top : bcHiSs d= n= p= u= U= o= : none
dmesg : HTkuxLw l= | human ctime level= follow : none
dpkg-query : * : text
getent : : getent
lsattr getfacl : * : name
dpkg : l L s S p W | list status listfiles search print-architecture get-selections version : text
`

/** Builtins that only change the shell or print, with any operands. */
export const harmlessBuiltins = new Set(
  'shift dirs times caller jobs fg bg disown return exit break continue logout ulimit unalias popd true false :'.split(
    ' ',
  ),
)

/** Programs that print one word which is no option. */
export const wordPrinters = new Set(
  'date uname whoami hostname basename nproc id arch pwd tty uuidgen mktemp'.split(' '),
)

/** Programs of a shared machine that run without approval, with plain words and no redirection. */
export const fixedPrograms = new Set('pwd ls cat head tail wc grep date whoami id uname echo true false git'.split(' '))
