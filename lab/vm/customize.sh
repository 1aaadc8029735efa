#!/bin/sh
# Hook of mmdebstrap: $1 is the folder of the machine; OFFERED are packages that roles install later.
set -eu
root=$1
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

# The boot loader: what a BIOS starts, made here because grub-install wants a disk. Its menu got another name, because the
# kernel's package makes a menu anew where there is one, and finds no disk here.
mv "$root/boot/grub/first.cfg" "$root/boot/grub/grub.cfg"
in_root grub-mkimage --format=i386-pc --prefix='(hd0,msdos1)/boot/grub' --output=/boot/grub/core.img \
  biosdisk part_msdos ext2 normal linux
cp -r "$root/usr/lib/grub/i386-pc" "$root/boot/grub/"

# What roles install comes from the disk: the machines need no network beyond this one.
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
apt-get clean
# shellcheck disable=SC2086  one word for each package
apt-get install --yes --no-install-recommends --download-only $OFFERED
unset APT_CONFIG
mkdir "$root/srv/packages"
mv "$root"/var/cache/apt/archives/*.deb "$root/srv/packages/"
(
  cd "$root/srv/packages"
  for file in *.deb; do
    dpkg-deb --field "$file"
    printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' \
      "$file" "$(stat --format=%s "$file")" "$(sha256sum "$file" | cut -d ' ' -f 1)"
  done > Packages
)
rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/packages ./' > "$root/etc/apt/sources.list"
rm -rf "$root"/var/lib/apt/lists/*
in_root apt-get update
in_root apt-cache gencaches

in_root systemctl enable lab-seed.service systemd-networkd.service ssh.service
in_root systemctl mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
  dpkg-db-backup.timer man-db.timer systemd-networkd-wait-online.service
# The root's own disk is all that its initramfs is for; made anew for each package that has a hook, it takes minutes.
sed -i 's/^update_initramfs=.*/update_initramfs=no/' "$root/etc/initramfs-tools/update-initramfs.conf"
in_root passwd --lock root
# Each machine gets its own from the seed; an empty machine-id is made at the first boot.
rm -f "$root"/etc/ssh/ssh_host_*
: > "$root/etc/machine-id"
