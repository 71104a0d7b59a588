#include "differential.h"
void inflate_sequence(void){} void back_sequence(void){} void whole_sequence(void){} void checksum_sequence(void){} void memory_sequence(void){} void file_sequence(void){}
