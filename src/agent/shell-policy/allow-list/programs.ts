/**
 * Lists the programs that run without approval, with the options and operands that are harmless. One line per group:
 * `names : options : operands`. Options are described in match-options.ts.
 *
 * Operands: `text` are no paths, `read` are read, `name` only looked at, `tree` read with everything below, `write`
 * written, `copy` read but for the last, which is written, `move` all written, `second` read and then written, `none`.
 * No entry allows all options. Options whose values are code, formats that start programs, configuration files among
 * them, are left out.
 * `!` marks programs with options that start programs or write files: no word may become an option by a wildcard. `*`
 * marks programs without harmful options: any word may become one.
 * `=number` and `=word` describe what the program prints.
 */
export const programList = `
cat gcat : AbeEnstTuv | show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting : read *
head ghead tail gtail : #qvzfF c= n= s= | bytes= lines= quiet silent verbose zero-terminated follow? retry pid= sleep-interval= : read *
paste : sz d= | delimiters= serial zero-terminated : read *
join : iz 1= 2= j= a= e= o= t= v= | header ignore-case check-order nocheck-order zero-terminated : read *
comm : 123z | check-order nocheck-order output-delimiter= total zero-terminated : read *
fold fmt : #bcstu w= g= p= | bytes spaces width= crown-margin tagged-paragraph split-only uniform-spacing goal= prefix= : read *
nl : p b= d= f= h= i= l= n= s= v= w= | body-numbering= section-delimiter= number-format= number-separator= starting-line-number= number-width= : read *
expand unexpand : #ai t= | all first-only initial tabs= : read *
cut : nsz b= c= d= f= | bytes= characters= delimiter= fields= only-delimited complement output-delimiter= zero-terminated : read *
tsort colrm : : read *
column : txeLnJ s= c= o= N= H= R= T= W= E= l= d | table separator= output-separator= columns= output-width= table-columns= table-hide= table-right= table-noheadings json : read *
od : abcdfilosxvB A= t= N= j= n= w? S? e= | address-radix= format= read-bytes= skip-bytes= width? output-duplicates : read *
hexdump hd : bcdoxCv n= s= e= : read *
strings : #afw n= t= e= s= o | all bytes= radix= encoding= print-file-name : binary *
zcat bzcat xzcat zstdcat : fqv | force quiet verbose : read *
tac : br s= | before regex separator= : read *
rev : : read *
cmp : bls n= i= | print-bytes verbose quiet silent bytes= ignore-initial= : read *
look : bdf t= : read *
pr : #acdfFmrtTJ h= l= w= W= o= n? s? e? i? N= D= | columns= double-space header= length= merge omit-header width= page-width= : read *
base32 basenc : diz w= | decode ignore-garbage wrap= base64 base64url base32 base32hex base16 base2msbf base2lsbf z85 : read *
wc gwc : clLmw | bytes chars lines words max-line-length total= : name =number *
grep egrep fgrep zgrep : abcEFGHhiIlLnoPqrRsTuUvVwxyzZ# e= f< A= B= C= m= d= D= | regexp= file< include= exclude= exclude-dir= exclude-from< max-count= context= after-context= before-context= color? colour? label= binary-files= devices= directories= extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp line-regexp count files-with-matches files-without-match only-matching quiet silent no-messages byte-offset with-filename no-filename line-number initial-tab null null-data recursive dereference-recursive text line-buffered binary : grep *
diff : #abBcdeEfinNpqrsTtuwyZ C= F= U= I= W= x= | normal brief report-identical-files context? unified? ed rcs side-by-side width= left-column suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab recursive no-dereference new-file unidirectional-new-file ignore-file-name-case exclude= ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr minimal color? speed-large-files horizon-lines= : tree *
md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum : abctwzrs l= | binary check tag text zero ignore-missing quiet status strict warn algorithm= length= untagged raw base64 : name *
ls vdir dir gls : 1aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ I= w= T= | all almost-all author escape block-size= ignore-backups color? colour? directory dired classify? file-type format= full-time group-directories-first no-group human-readable si dereference dereference-command-line hide= hyperlink? indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero : name *
stat : Lftxq c= | dereference file-system format= printf= terse cached= : name *
du : 0aAbcDhHklLmPsSx d= t= B= | null all apparent-size bytes total human-readable si max-depth= separate-dirs summarize dereference dereference-args no-dereference threshold= time? time-style= block-size= exclude= one-file-system inodes : name *
df : aBhHiklPT t= x= B= | all block-size= human-readable si inodes local no-sync output? portability print-type total type= exclude-type= : name *
basename : az s= | multiple suffix= zero : text *
dirname : z | zero : text *
realpath readlink : efmLPqsz n v | canonicalize canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip no-symlinks zero no-newline silent verbose : name *
which whereis type : abmsupftP | all skip-dot : name *
jq : CMRSacejnrs f< L< | arg= argjson= args jsonargs compact-output raw-output join-output ascii-output sort-keys color-output monochrome-output null-input raw-input slurp exit-status tab indent= unbuffered stream seq ascii raw-output0 stream-errors from-file< : jq *
yq : rejncCPMN o= p= I= | raw-output exit-status null-input output-format= input-format= prettyPrint no-colors colors unwrapScalar : yq
whoami groups users logname tty sync clear reset : : text *
locale : am | all-locales charmaps : text *
id : Ggnruz a | group groups name real user zero : text *
w who : abdHlmpqrsTtufhi o | all boot dead heading login mesg process count runlevel short time users message : text *
uname : asnrvmpio | all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system : text *
nproc : | all ignore= : text *
free : bkmghltvw s= c= | bytes kilo mega giga kibi mebi gibi human lohi total seconds= count= wide : text *
uptime : ps | pretty since : text *
lscpu lsblk lsmod lsusb : aeJbdfilmnOpPrstSTvVxyCB e= o= I= x= E= D= | all bytes discard dedup= fs inverse json list noheadings output= output-all paths pairs perms raw topology tree tree? sort= extended? parse? online offline caches? hex verbose : none *
lsb_release sw_vers : aidrcs | all id description release codename short productName productVersion buildVersion : none *
vmstat iostat : afmnsdDptwcdhNkxyzS # | active forks slabs one-header stats disk partition unit wide timestamp human : text *
ps : #AaNdeflFHjLMTwxcyZmVXvruS C= G= g= o= O= p= q= s= t= U= u= k= | cols= columns= cumulative forest headers lines= no-headers no-heading rows= sort= width= pid= ppid= user= User= group= sid= tty= format= deselect context info : text *
pgrep pidof : acflnovwxiIA P= u= U= g= G= s= t= d= F< r= | count delimiter= list-name list-full newest oldest parent= session= terminal= euid= uid= group= full exact ignore-case inverse : text *
pstree : aAcghlnNpsStTuUZ H= C= | arguments ascii compact-not long numeric-sort show-pids show-parents uid-changes : text *
lspci : vknmtxbDP s= d= : none
uuidgen : rt | random time : none *
getconf : a : text *
factor seq expr : #wf= s= | equal-width format= separator= exponents : text *
numfmt : d= z | delimiter= field= format= from= from-unit= to= to-unit= grouping header? invalid= padding= round= suffix= zero-terminated : text *
cal : #13jmsyn A= B= h : text *
tput : : tput
sleep usleep : : text *
lsof : antPR i= p= c= d= u= : none
ss netstat : antulpseoxwi46 | numeric tcp udp listening processes all : none
tokei : fCsV s= e= t= o= | files hidden no-ignore sort= exclude= type= output= languages compact num-format= verbose : name !
scc : wzcdalp i= s= x= n= | by-file no-cocomo no-complexity no-duplicates no-gen no-min no-size sort= include-ext= exclude-ext= exclude-dir= wide languages format= ci not-match= : name !
cloc : vq | by-file by-percent= csv json yaml md quiet exclude-dir= exclude-ext= exclude-lang= include-lang= include-ext= show-lang? show-ext? hide-rate sum-one processes= skip-uniqueness progress-rate= : name !
exa eza lsd : 1aAdDfFgGhHiIlmnrRSstTUuxZB L= I= s= t= w= | all almost-all long oneline grid across recurse tree level= classify? color? colour? color-scale? icons? sort= reverse only-dirs only-files group-directories-first git-ignore ignore-glob= header inode links group modified created accessed size? blocks no-permissions no-user no-time no-icons time-style= git depth= human-readable total-size date= : name !
ag ack : nilcwvHhostrRuSQ0 A= B= C= G= m= | ignore-case files-with-matches files-without-matches count literal hidden depth= max-count= nogroup nocolor nobreak noheading type= : grep !
rg ripgrep rgrep : acFHhiIlLnNopPqsSuUvVwx0b. A= B= C= e= g= m= M= t= T= E= r= j= d= f< | files-with-matches files-without-match ignore-case line-number no-line-number glob= iglob= type= type-not= type-list count count-matches only-matching max-count= hidden no-ignore context= after-context= before-context= fixed-strings word-regexp smart-case color= colors= heading no-heading json files sort= sortr= multiline multiline-dotall invert-match max-depth= regexp= replace= with-filename no-filename stats pcre2 trim no-messages max-columns= vimgrep column null version help case-sensitive follow quiet passthru unrestricted text encoding= pretty : grep !
file : bhiIkLNnprsvz F= | brief mime mime-type mime-encoding dereference version : name !
tree : adfpsughDFiCnrtcQNSA L= I= P= | dirsfirst du noreport gitignore prune filelimit= charset= : name !
bat batcat : pnA l= r= | plain paging= style= color= language= line-range= theme= decorations= : read !
less more : NSRFXinegGmMrsEc | quit-if-one-screen no-init : pager !
man : fkaw | version apropos whatis where path : pager !
help : dms : text *
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
bc : lqsiw | mathlib quiet standard interactive warn : read
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
tar gtar bsdtar : tvzjJZacxrukpmOohS f= C> X< | list verbose file= gzip bzip2 xz zstd auto-compress exclude= wildcards create extract get append update strip-components= directory> no-same-owner exclude-vcs keep-old-files overwrite keep-newer-files : tar !
unzip : lvtpqonZjcz d> x= : unzip
zipinfo : 12slmvhtzZ : read *
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
openssl : ~ | : openssl
printenv : 0 | null : printenv *
nm objdump readelf size : aACDghlnrsStuvwxdTV | demangle version help headers syms disassemble : binary !
xmllint : ~ | format noout xpath= schema< relaxng< html nonet noblanks compact timing version nowarning recover pretty= encode= : xmllint !
shellcheck : CV e= f= i= o= s= S= W= | include= exclude= format= shell= severity= wiki-link-count= color? norc version : read !
hadolint : Vv f= t= | format= ignore= failure-threshold= no-fail no-color version : read !
yamllint : sv f= | format= strict no-warnings version : read !
actionlint : ~ | color no-color oneline verbose version ignore= : read !
top : bcHiSs d= n= p= u= U= o= : none
dmesg : HTkuxLw l= | human ctime level= follow : none
dpkg-query : lsLWSp f= | list status listfiles show search print-avail showformat= version : text *
getent : : getent
lsattr : adlpRvV : name *
getfacl : acdepRtn | access default omit-header numeric recursive tabular : name *
dpkg : l L s S p W | list status listfiles search print-architecture get-selections version : text
`

/** Builtins that only change the shell or print, with any operands. */
export const harmlessBuiltins = new Set(
  'shift dirs times caller fg bg disown return exit break continue logout ulimit unalias popd true false :'.split(' '),
)

/** Programs that print one word which is no option. */
export const wordPrinters = new Set(
  'date uname whoami hostname basename nproc id arch pwd tty uuidgen mktemp'.split(' '),
)

/** Programs of a shared machine that run without approval, with plain words and no redirection. */
export const fixedPrograms = new Set('pwd ls cat head tail wc grep date whoami id uname echo true false git'.split(' '))
